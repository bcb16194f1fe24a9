import { isWhole, restorePath } from './archives.tsx'
import type { Client } from './client.ts'
import { Faults } from './faults.tsx'
import { shown } from './shown.ts'
import { type Column, Table } from './table.tsx'
import type { Job, Page, Run, ScheduleDetail } from './types.ts'
import { useLive } from './use-live.ts'
import { inShort, projectsOf, Time, toCount, toSize } from './words.tsx'

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
    <Table
      label="Runs"
      columns={columnsOf(timezone)}
      rows={runs.map((run) => ({ run, job: jobs.get(run.jobId ?? '') }))}
      keyOf={({ run }) => `${run.dueAt} ${run.jobId}`}
    />
  )
}

interface RunWithJob {
  readonly run: Run
  /** Where it is still there. */
  readonly job: Job | undefined
}

const doneOf = ({ job }: RunWithJob): Job['progress'] => (job?.status === 'succeeded' ? job.progress : null)

const columnsOf = (timezone: string): readonly Column<RunWithJob>[] => [
  { title: `When, ${timezone}`, draw: ({ run }) => <Due run={run} timezone={timezone} /> },
  {
    title: 'Restore',
    isSpoken: true,
    draw: ({ run, job }) => job && isWhole(job) && <RestoreLink job={job} due={inShort(run.dueAt, timezone)} />,
  },
  { title: 'Outcome', draw: ({ run }) => <Outcome run={run} /> },
  {
    title: 'Proven',
    draw: ({ run: { archiveDamagedAt, provenAt } }) =>
      archiveDamagedAt ? 'damaged' : provenAt && <Time at={provenAt} />,
  },
  {
    title: 'Rows',
    isNumber: true,
    draw: (row) => {
      const done = doneOf(row)
      return done && toCount(done.rows)
    },
  },
  {
    title: 'Size',
    isNumber: true,
    draw: (row) => {
      const done = doneOf(row)
      return done && toSize(done.bytes)
    },
  },
]

function Due({ run: { dueAt, jobId, status }, timezone }: { readonly run: Run; readonly timezone: string }) {
  const due = inShort(dueAt, timezone)
  return (
    <>
      {jobId && status !== 'removed' ? <a href={`#/jobs/${jobId}`}>{due}</a> : due}{' '}
      <span class="quiet">
        <Time at={dueAt} />
      </span>
    </>
  )
}

const Outcome = ({ run: { status, error, lacksRows } }: { readonly run: Run }) => (
  <>
    <span class={`status ${status}`}>{status}</span>
    {error && shown(`: ${error.detail}`)}
    {error && <Faults error={error} />}
    {lacksRows && ', without some rows'}
  </>
)

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
