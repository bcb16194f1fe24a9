import type { ProjectOverview } from './types.ts'
import { useRovingFocus } from './use-roving-focus.ts'
import { dateFormat } from './words.tsx'

type PastNight = ProjectOverview['nights'][number]

/** A night, or today where a schedule is still to run: `ahead`. */
export type Night = Omit<PastNight, 'outcome'> & { readonly outcome: PastNight['outcome'] | 'ahead' }

interface StripProps {
  readonly project: string
  readonly nights: readonly Night[]
}

/** The last nights of a project, the oldest first; an archive that is there leads to its restore. */
export function NightStrip({ project, nights }: StripProps) {
  const strip = useRovingFocus<HTMLOListElement>('a', nights.length)
  const ends = [nights.at(0), nights.at(-1)].flatMap((night) => (night ? [dateInWords(night.date, DAY)] : []))
  return (
    <>
      <ol class="strip nights" aria-label={`Nights of ${project}`} ref={strip}>
        {nights.map((night) => (
          <li key={night.date}>
            <NightMark project={project} night={night} />
          </li>
        ))}
      </ol>
      {/* Each night has its own label, which is only there while it is hovered over. */}
      <p class="ends quiet" aria-hidden="true">
        {ends.join(' – ')}
      </p>
    </>
  )
}

/** `25 Nov` */
const DAY = { day: 'numeric', month: 'short', timeZone: 'UTC' } as const
/** `Wed 25 Nov` */
const WEEKDAY = { weekday: 'short', ...DAY } as const

const dateInWords = (date: string, format: Intl.DateTimeFormatOptions): string =>
  dateFormat(format).format(new Date(date)).replace(',', '')

function NightMark({ project, night }: { readonly project: string; readonly night: Night }) {
  const { date, outcome, jobId, hasArchive } = night
  const isGone = !hasArchive && (outcome === 'proven' || outcome === 'made')
  const word = outcome === 'ahead' ? 'yet to come' : outcome
  const label = `${dateInWords(date, WEEKDAY)}: ${word}${isGone ? ', no longer kept' : ''}`
  const mark = <span class={`mark ${outcome}${isGone ? ' gone' : ''}`} aria-hidden="true" />
  if (jobId === null || isGone) {
    return (
      <span data-label={label}>
        {mark}
        <span class="spoken">{label}</span>
      </span>
    )
  }
  const href = hasArchive ? `#/restore/${jobId}/${project}` : `#/jobs/${jobId}`
  return (
    <a href={href} data-label={hasArchive ? `${label}. Restore it …` : label} aria-label={label}>
      {mark}
    </a>
  )
}
