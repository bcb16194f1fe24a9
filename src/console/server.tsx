import { useState } from 'preact/hooks'
import { AttachedDatabases } from './attached.tsx'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { QueueFacts } from './queue.tsx'
import { Scrolling } from './scrolling.tsx'
import type { Doctor, Status } from './types.ts'
import { useLive } from './use-live.ts'
import { inUnits, shown, Time, toCount, toSize } from './words.tsx'

const PAUSE_MS = 5_000

/** How the installation does: what `wharf status` and `wharf doctor` say; for the root token. */
export function Server({ client }: { readonly client: Client }) {
  const { value, failure } = useLive(
    'status',
    (signal) => client.json<Status>('/status', { signal }),
    () => PAUSE_MS,
  )
  return (
    <>
      <h1>Server</h1>
      <Failure text={failure} />
      {value && <Facts status={value} />}
      <QueueFacts client={client} />
      <Checks client={client} />
      <AttachedDatabases client={client} />
    </>
  )
}

function Facts({ status }: { readonly status: Status }) {
  const { version, database, processes, queue, jobs, storage, backup, problems } = status
  return (
    <>
      {problems.map((problem) => (
        <p class="alarm" key={problem}>
          {shown(problem)}
        </p>
      ))}
      {problems.length === 0 && <p class="status succeeded">Nothing needs anybody’s attention.</p>}
      <dl>
        <dt>Wharf</dt>
        <dd>{version}</dd>
        <dt>Database</dt>
        <dd>
          {database.name} on PostgreSQL {database.version}, {toSize(database.bytes)}, {toCount(database.projects)}{' '}
          projects
        </dd>
        <dt>Queue</dt>
        <dd>
          {queue.kind === 'redis' ? 'Redis' : 'PostgreSQL'}: <a href="#/jobs">{toCount(jobs.waiting)} waiting</a>
          {jobs.waiting > 0 && ` (the oldest for ${inUnits(jobs.oldestWaitingSeconds)})`}, {toCount(jobs.running)}{' '}
          running, {toCount(jobs.failed)} failed within a day
        </dd>
        <dt>Archives</dt>
        <dd>
          {toCount(storage.archives)}, {toSize(storage.bytes)}, in {storage.location}
        </dd>
        <dt>Backup of Wharf</dt>
        <dd>{backup.enabled ? <Time at={backup.lastAt} /> : 'off: set WHARF_BACKUP_KEY'}</dd>
      </dl>
      <h2>Processes</h2>
      <Scrolling label="Processes">
        <table>
          <thead>
            <tr>
              <th scope="col">Does</th>
              <th scope="col">Host</th>
              <th scope="col">Process</th>
              <th scope="col">Version</th>
              <th scope="col">Started</th>
            </tr>
          </thead>
          <tbody>
            {processes.map(({ parts, host, pid, version: own, startedAt }) => (
              <tr key={`${host} ${pid}`}>
                <th scope="row">{parts.join(', ')}</th>
                <td>{host}</td>
                <td>{pid}</td>
                <td>{own}</td>
                <td>
                  <Time at={startedAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </>
  )
}

const STATUS_CLASSES = { ok: 'succeeded', warning: 'running', fault: 'failed', skipped: 'quiet' } as const

function Checks({ client }: { readonly client: Client }) {
  const [looks, setLooks] = useState(0)
  const { value, failure } = useLive(
    `doctor ${looks}`,
    (signal) => client.json<Doctor>('/doctor', { signal }),
    () => undefined,
  )
  return (
    <>
      <div class="title">
        <h2>Health</h2>
        <button type="button" disabled={!value && failure === undefined} onClick={() => setLooks(looks + 1)}>
          Look again
        </button>
      </div>
      <Failure text={failure} />
      {!value && failure === undefined && <p role="status">Looking …</p>}
      {value && (
        <Scrolling label="Health">
          <table>
            <thead>
              <tr>
                <th scope="col">Looked at</th>
                <th scope="col">Status</th>
                <th scope="col">Found</th>
              </tr>
            </thead>
            <tbody>
              {value.checks.map(({ name, status, detail }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td class={`status ${STATUS_CLASSES[status]}`}>{status}</td>
                  <td>{shown(detail)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolling>
      )}
    </>
  )
}
