import type { Job } from './types.ts'
import { inUnits, toCount, toRows, toSize } from './words.tsx'

/** How far a job has come, as far as that is known; of one that has ended, how far it came. */
export function Progress({ job: { status, progress, startedAt } }: { readonly job: Job }) {
  if (!progress) return status === 'running' ? <p class="quiet">It has begun; figures follow.</p> : null
  const { phase, table, rows, rowsTotal, bytes, percent } = progress
  const figures = `${toRows(rows)}, ${toSize(bytes)}`
  if (status === 'succeeded') return <p>In all: {figures} of archive</p>
  if (status !== 'running') return rows > 0 ? <p>It came as far as {toRows(rows)}.</p> : null
  return (
    <div class="progress">
      {percent !== null && <progress max="100" value={percent} aria-label="Progress" />}
      <span>
        {phase}
        {table !== null && ` ${table}`}: {figures}
        {rowsTotal !== null && `, of ${toCount(rowsTotal)} rows`}
        {timeLeft(startedAt, percent)}
      </span>
    </div>
  )
}

/** Below this, too little is done to tell. */
const MIN_PERCENT = 3

/** As long as it took so far for what is done; nothing where that is not known. */
function timeLeft(startedAt: string | null, percent: number | null): string {
  if (startedAt === null || percent === null || percent < MIN_PERCENT) return ''
  const seconds = ((Date.now() - Date.parse(startedAt)) / 1_000 / percent) * (100 - percent)
  return `, about ${inUnits(seconds)} left`
}
