import type { Run, ScheduleDetail } from './types.ts'

/** What became of a run, in one word; a proven archive is more than one that was made. */
function outcomeOf({ status, provenAt }: Run): string {
  if (provenAt) return 'proven'
  return status === 'succeeded' ? 'made' : status
}

/** The newest runs of a schedule, the oldest of them first; each leads to its job. */
export function RunStrip({ schedule }: { readonly schedule: ScheduleDetail }) {
  const runs = schedule.runs.toReversed()
  return (
    <>
      {runs.length === 0 && <p class="quiet">It has not run yet.</p>}
      <ol class="strip" aria-label={`Runs of ${schedule.name}`}>
        {runs.map((run) => (
          <li key={`${run.dueAt} ${run.jobId}`}>
            <RunMark run={run} />
          </li>
        ))}
      </ol>
    </>
  )
}

function RunMark({ run }: { readonly run: Run }) {
  const outcome = outcomeOf(run)
  // With the job, its archive has gone.
  const isGone = run.jobId === null && run.status === 'succeeded'
  const label = `${run.dueAt.slice(0, 16).replace('T', ' ')} UTC: ${outcome}${isGone ? ', no longer kept' : ''}`
  const mark = <span class={`mark ${outcome}${isGone ? ' gone' : ''}`} aria-hidden="true" />
  if (run.jobId === null || run.status === 'removed') {
    return (
      <span title={label}>
        {mark}
        <span class="spoken">{label}</span>
      </span>
    )
  }
  return (
    <a href={`#/jobs/${run.jobId}`} title={label} aria-label={label}>
      {mark}
    </a>
  )
}
