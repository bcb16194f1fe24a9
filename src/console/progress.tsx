import type { Job } from './types.ts'
import { toCount, toSize } from './words.tsx'

/** How far a job has come, as far as that is known; of one that has ended, how far it came. */
export function Progress({ job: { status, progress } }: { readonly job: Job }) {
  if (!progress) return null
  const { phase, table, rows, rowsTotal, bytes, percent } = progress
  const figures = `${toCount(rows)} rows, ${toSize(bytes)}`
  if (status !== 'running') return <p>{figures}</p>
  return (
    <div class="progress">
      {percent !== null && <progress max="100" value={percent} aria-label="Progress" />}
      <span>
        {phase}
        {table !== null && ` ${table}`}: {figures}
        {rowsTotal !== null && `, of ${toCount(rowsTotal)} rows`}
      </span>
    </div>
  )
}
