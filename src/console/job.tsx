import { adviceFor } from './advice.tsx'
import { isWhole, restorePath } from './archives.tsx'
import { Attempts } from './attempts.tsx'
import type { Client } from './client.ts'
import { Download } from './download.tsx'
import { Failure } from './failure.tsx'
import { Faults } from './faults.tsx'
import { followJob } from './follow-jobs.ts'
import { ImportedStages } from './imported-stages.tsx'
import { Progress } from './progress.tsx'
import { shown } from './shown.ts'
import type { Job, Me, Schedule } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'
import { useTitle } from './use-title.ts'
import { FullTime, type ImportRequest, inFull, projectsOf, subjectOf, Time, toCount } from './words.tsx'

/**
 * Where the same is asked for again; undefined where it cannot be: patterns are for schedules alone, an uploaded archive is used
 * up, and tokens of other servers are not kept.
 */
function pathOfAgain({ kind, request, scheduleId }: Job): string | undefined {
  if (typeof request !== 'object' || request === null || kind === 'import') return undefined
  if (kind === 'export' && !('patterns' in request)) return '/export'
  if (kind === 'transfer' && projectsOf(request).length === 2) return '/transfer'
  return scheduleId === null ? undefined : `/schedules/${scheduleId}/run`
}

const AGAIN: Readonly<Record<string, string>> = { '/export': 'Export again', '/transfer': 'Transfer again' }

/** Whether it has replaced what a project of this server had. */
const isImportHere = ({ kind, request }: Job): boolean => {
  if (kind !== 'transfer') return kind === 'import'
  const { target } = request as { readonly target?: { readonly project?: string } }
  return target?.project !== undefined
}

const hasEnded = ({ links }: Job): boolean => links.cancel === undefined

/** Where it cannot be followed, it is looked at after this long, so that nothing shown is older than a second. */
const PAUSE_MS = 500

/** Whether the log of attempts says more than the job does: of its only attempt, it shows the outcome anyway. */
const tellsMore = ({ attempts, status }: Job): boolean =>
  attempts.length > 1 || attempts.some(({ outcome }) => outcome !== null && outcome !== status)

/** One job, as it goes on. */
export function JobView({ client, id }: { readonly client: Client; readonly id: string }) {
  const { value: job, failure } = useLive(
    `job ${id}`,
    (signal) => client.json<Job>(`/jobs/${id}`, { signal }),
    (seen) => (hasEnded(seen) ? undefined : PAUSE_MS),
    false,
    (signal) => followJob(client, id, signal),
  )
  useTitle(job && subjectOf(job))
  return (
    <>
      <h1>{job ? subjectOf(job) : 'Job'}</h1>
      <Failure text={failure} />
      {job && <JobFacts client={client} job={job} />}
      {job && <JobActions key={job.id} client={client} job={job} />}
      {job && tellsMore(job) && <Attempts job={job} />}
      {job && isImportHere(job) && job.status === 'succeeded' && (
        <ImportedStages key={`stages ${job.id}`} client={client} job={job} />
      )}
    </>
  )
}

function JobFacts({ client, job }: { readonly client: Client; readonly job: Job }) {
  const from = job.kind === 'import' ? (job.request as ImportRequest).from : undefined
  return (
    <>
      <dl>
        <dt>Status</dt>
        <dd class={`status ${job.status}`} aria-live="polite">
          {job.status}
          {!hasEnded(job) && job.cancelRequestedAt && ', cancelling'}
        </dd>
        {from && (
          <>
            <dt>From</dt>
            <dd>
              <a href={`#/jobs/${from.jobId}`}>the archive of {inFull(from.createdAt)}</a>
            </dd>
          </>
        )}
        <dt>Asked for</dt>
        <dd>
          <FullTime at={job.createdAt} />
        </dd>
        <dt>Ended</dt>
        <dd>{job.finishedAt ? <Time at={job.finishedAt} /> : 'not yet'}</dd>
        {job.scheduleId && <ScheduleOf client={client} id={job.scheduleId} />}
        {isWhole(job) && (
          <>
            <dt>Archive</dt>
            <dd>
              {job.provenAt ? (
                <>
                  <span class="status succeeded">proven</span> <Time at={job.provenAt} />: restored, and found identical
                </>
              ) : (
                'not proven'
              )}
            </dd>
          </>
        )}
        <dt>Attempts</dt>
        <dd>{toCount(job.attempt)}</dd>
      </dl>
      <Progress job={job} />
      {job.archiveDamagedAt && <p class="failure">The archive is damaged, and cannot be downloaded.</p>}
      {job.error && <JobError error={job.error} />}
    </>
  )
}

/** Why it failed, in words, and what to do next. */
function JobError({ error }: { readonly error: NonNullable<Job['error']> }) {
  const { title, advice } = adviceFor(error.code)
  return (
    <section class="card failed" aria-label="Error">
      <h2>
        {title} <span class="quiet">{error.code}</span>
      </h2>
      <p>{shown(error.detail)}</p>
      {advice && <p>{advice}</p>}
      <Faults error={error} />
    </section>
  )
}

/** The schedule that has started a job, where the token may see it. */
function ScheduleOf({ client, id }: { readonly client: Client; readonly id: string }) {
  const { value } = useLive(
    `schedule of a job ${id}`,
    (signal) => client.json<Schedule>(`/schedules/${id}`, { signal }),
    () => undefined,
  )
  return (
    <>
      <dt>Schedule</dt>
      <dd>
        <a href={`#/schedules/${id}`}>{value ? shown(value.name) : 'its schedule'}</a>
      </dd>
    </>
  )
}

function JobActions({ client, job }: { readonly client: Client; readonly job: Job }) {
  const { isBusy, failure, act } = useAction()
  const againAt = pathOfAgain(job)
  const hasArchive = isWhole(job)
  const projects = projectsOf(job.request)
  const { value: me } = useLive(
    'who looks at a job',
    (signal) => client.json<Me>('/me', { signal }),
    () => undefined,
  )
  const mayImport = me?.root === true || me?.memberships.some(({ role }) => role.content.import) === true
  // Of many, none is what people come for.
  const isMain = mayImport && projects.length === 1
  const again = async (): Promise<void> => {
    const json = againAt?.startsWith('/schedules/') ? {} : { json: job.request }
    const { id } = await client.json<Job>(againAt ?? '', { method: 'POST', prefer: 'respond-async', ...json })
    location.hash = `/jobs/${id}`
  }
  return (
    <>
      <p class="actions">
        {hasArchive &&
          projects.map((slug) => (
            <a key={slug} class={isMain ? 'button main' : 'button'} href={restorePath(job.id, slug)}>
              Restore {slug} …
            </a>
          ))}
        {hasArchive && <Download client={client} job={job} isMain={me !== undefined && !isMain} />}
        {job.links.cancel && (
          <button
            type="button"
            disabled={isBusy || job.cancelRequestedAt !== null}
            title={job.cancelRequestedAt === null ? undefined : 'It is being cancelled.'}
            onClick={() => act(() => client.json(`/jobs/${job.id}/cancel`, { method: 'POST' }))}
          >
            Cancel
          </button>
        )}
        {againAt && hasEnded(job) && (
          <button type="button" disabled={isBusy} onClick={() => act(again)}>
            {AGAIN[againAt] ?? 'Run the schedule again'}
          </button>
        )}
      </p>
      <Failure text={failure} />
    </>
  )
}
