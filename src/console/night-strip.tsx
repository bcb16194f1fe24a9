import type { ProjectOverview } from './types.ts'
import { useRovingFocus } from './use-roving-focus.ts'
import { dateFormat } from './words.tsx'

type Night = ProjectOverview['nights'][number]

interface StripProps {
  readonly project: string
  readonly nights: readonly Night[]
}

/** The last nights of a project, the oldest first; an archive that is there leads to its restore. */
export function NightStrip({ project, nights }: StripProps) {
  const strip = useRovingFocus<HTMLOListElement>('a', nights.length)
  const ends = [nights.at(0), nights.at(-1)].flatMap((night) => (night ? [dayInWords(night.date)] : []))
  return (
    <>
      <ol class="strip nights" aria-label={`Nights of ${project}`} ref={strip}>
        {nights.map((night) => (
          <li key={night.date}>
            <NightMark project={project} night={night} />
          </li>
        ))}
      </ol>
      {/* Where nothing can be hovered over, nothing else says which nights these are; each night has its own label. */}
      <p class="ends quiet" aria-hidden="true">
        {ends.join(' – ')}
      </p>
    </>
  )
}

const DAY = { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' } as const

/** `Wed 25 Nov` */
const dayInWords = (date: string): string => dateFormat(DAY).format(new Date(date)).replace(',', '')

function NightMark({ project, night }: { readonly project: string; readonly night: Night }) {
  const { date, outcome, jobId, hasArchive } = night
  const isGone = !hasArchive && (outcome === 'proven' || outcome === 'made')
  const label = `${dayInWords(date)}: ${outcome}${isGone ? ', no longer kept' : ''}`
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
