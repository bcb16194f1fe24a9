import { isWhole, restorePath } from './archives.tsx'
import type { Client } from './client.ts'
import { Scrolling } from './scrolling.tsx'
import type { Job, Page, Run, ScheduleDetail } from './types.ts'
import { useLive } from './use-live.ts'
import { inShort, projectsOf, shown, Time, toCount, toSize } from './words.tsx'

interface RunsProps {
  readonly client: Client
  readonly schedule: ScheduleDetail
}

/** The newest runs of a schedule, each with what it left. */
export function Runs({ client, schedule: { id, runs, timezone } }: RunsProps) {
  const newest = runs.map(({ jobId, status, provenAt }) => `${jobId} ${status} ${provenAt}`).join()
  const { value } = useLive(
    `jobs of runs ${id} ${newest}`,
    (signal) => client.json<Page<Job>>(`/jobs?schedule=${id}&limit=100`, { signal }),
    () => undefined,
    true,
  )
  if (runs.length === 0) return null
  const jobs = new Map(value?.items.map((job) => [job.id, job]))
  return (
    <Scrolling label="Runs">
      <table class="runs">
        <thead>
          <tr>
            <th scope="col">Due, {timezone}</th>
            <th scope="col">
              <span class="spoken">Restore</span>
            </th>
            <th scope="col">Outcome</th>
            <th scope="col">Proven</th>
            <th scope="col" class="number">
              Rows
            </th>
            <th scope="col" class="number">
              Size
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <RunRow key={`${run.dueAt} ${run.jobId}`} run={run} job={jobs.get(run.jobId ?? '')} timezone={timezone} />
          ))}
        </tbody>
      </table>
    </Scrolling>
  )
}

interface RowProps {
  readonly run: Run
  /** Where it is still there. */
  readonly job: Job | undefined
  readonly timezone: string
}

function RunRow({ run, job, timezone }: RowProps) {
  const { dueAt, jobId, status, error, provenAt, archiveDamagedAt, lacksRows } = run
  const due = inShort(dueAt, timezone)
  const done = job?.status === 'succeeded' ? job.progress : null
  return (
    <tr>
      <td>
        {jobId && status !== 'removed' ? <a href={`#/jobs/${jobId}`}>{due}</a> : due}
        <br />
        <span class="quiet">
          <Time at={dueAt} />
        </span>
      </td>
      <td>{job && isWhole(job) && <RestoreLink job={job} due={due} />}</td>
      <td>
        <span class={`status ${status}`}>{status}</span>
        {error && shown(`: ${error.detail}`)}
        <Faults faults={error?.errors} />
        {lacksRows && ', without some rows'}
      </td>
      <td>{archiveDamagedAt ? 'damaged' : provenAt && <Time at={provenAt} />}</td>
      <td class="number">{done && toCount(done.rows)}</td>
      <td class="number">{done && toSize(done.bytes)}</td>
    </tr>
  )
}

/** To the restore of what it has; of several projects, to the page that lets one of them be chosen. */
function RestoreLink({ job, due }: { readonly job: Job; readonly due: string }) {
  const [project, ...others] = projectsOf(job.request)
  if (project === undefined) return null
  const href = others.length === 0 ? restorePath(job.id, project) : `#/jobs/${job.id}`
  return (
    <a class="button" href={href} aria-label={`Restore: ${due}`}>
      Restore …
    </a>
  )
}

/** What differed after a restore, or was at fault else. */
function Faults({ faults = [] }: { readonly faults: NonNullable<Run['error']>['errors'] | undefined }) {
  if (faults.length === 0) return null
  return (
    <ul>
      {faults.map(({ detail }) => (
        <li key={detail}>{shown(detail)}</li>
      ))}
    </ul>
  )
}
