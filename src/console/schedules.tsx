import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { shown } from './shown.ts'
import type { Page, Run, Schedule } from './types.ts'
import { useLive } from './use-live.ts'
import { projectsOf, Since, Time } from './words.tsx'

const PAUSE_MS = 5_000

/** The schedules that the token may see. */
export function Schedules({ client }: { readonly client: Client }) {
  const { value, failure } = useLive(
    'schedules',
    (signal) => client.json<Page<Schedule>>('/schedules?limit=200', { signal }),
    () => PAUSE_MS,
  )
  return (
    <>
      <h1>Schedules</h1>
      <p class="actions">
        <a class="button" href="#/schedules/new">
          New schedule
        </a>
      </p>
      <Failure text={failure} />
      {value?.items.length === 0 && <p>There is no schedule yet.</p>}
      {value?.next && <p class="quiet">These are the first 200.</p>}
      {value?.items.map((schedule) => (
        <article class="card" key={schedule.id} aria-label={schedule.name}>
          <h2>
            <a href={`#/schedules/${schedule.id}`}>{shown(schedule.name)}</a>
          </h2>
          <dl>
            <dt>What</dt>
            <dd>{whatOf(schedule)}</dd>
            <dt>Next run</dt>
            <dd>{schedule.enabled ? <Time at={schedule.nextRunAt} /> : 'paused'}</dd>
            <dt>Last run</dt>
            <dd>
              <Time at={schedule.lastRun?.dueAt} />
              {schedule.lastRun && <LastOutcome run={schedule.lastRun} />}
            </dd>
            {schedule.verify && (
              <>
                <dt>Last proven</dt>
                <dd>
                  <Time at={schedule.lastProven?.provenAt} />
                </dd>
              </>
            )}
          </dl>
          <Overdue schedule={schedule} />
        </article>
      ))}
    </>
  )
}

/** How the last run went, and why it failed; leads to its job, where that is there. */
function LastOutcome({ run: { jobId, status, error } }: { readonly run: Run }) {
  const word = <span class={`status ${status}`}>{status}</span>
  return (
    <>
      , {jobId && status !== 'removed' ? <a href={`#/jobs/${jobId}`}>{word}</a> : word}
      {error && shown(`: ${error.detail}`)}
    </>
  )
}

/** Says that a schedule is overdue, where it is. */
export function Overdue({ schedule }: { readonly schedule: Schedule }) {
  const { overdueSince, verify, lastProven, lastSuccess } = schedule
  if (!overdueSince) return null
  const what = verify ? 'proven archive' : 'archive'
  const last = verify ? lastProven : lastSuccess
  return (
    <p class="failure">
      Overdue for <Since at={overdueSince} />:{' '}
      {last?.finishedAt ? (
        <>
          it made its last {what} <Time at={last.finishedAt} />
          {last.jobId === null && ', which is no longer kept'}
        </>
      ) : (
        `it made no ${what}`
      )}
      .
    </p>
  )
}

/** What a schedule does, in words: `export of shop, proven`. */
export function whatOf({ kind, request, verify }: Schedule): string {
  const patterns = patternsOf(request).map((pattern) => (pattern === '*' ? 'all projects' : `projects like ${pattern}`))
  const subjects = [...projectsOf(request), ...patterns]
  return `${kind} of ${subjects.join(kind === 'transfer' ? ' to ' : ', ')}${verify ? ', proven by a restore' : ''}`
}

function patternsOf(request: unknown): readonly string[] {
  const patterns = (request as { readonly patterns?: unknown } | null)?.patterns
  if (!Array.isArray(patterns)) return []
  return patterns.flatMap(({ pattern }: { readonly pattern?: unknown }) =>
    typeof pattern === 'string' ? [pattern] : [],
  )
}
