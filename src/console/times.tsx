import { inZone } from './words.tsx'

/** Moments by the clocks of a time zone. */
export const Times = ({ times, timezone }: { readonly times: readonly string[]; readonly timezone: string }) => (
  <ol class="times">
    {times.map((time) => (
      <li key={time}>
        <time dateTime={time}>{inZone(time, timezone)}</time>
      </li>
    ))}
  </ol>
)
