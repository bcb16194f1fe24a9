import { useState } from 'preact/hooks'
import { AttachedDatabases } from './attached.tsx'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { jobsPath } from './paths.ts'
import { QueueFacts } from './queue.tsx'
import { shown } from './shown.ts'
import { type Column, Table } from './table.tsx'
import type { Doctor, Status } from './types.ts'
import { useLive } from './use-live.ts'
import { inUnits, Time, toCount, toCounted, toSize } from './words.tsx'

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
  const { version, database, processes, queue, jobs, schedules, storage, backup, problems } = status
  const failing = schedules.filter(({ enabled, last }) => enabled && last === 'failed')
  return (
    <>
      {problems.map((problem) => (
        <p class="alarm" key={problem}>
          {shown(asSentence(problem))}
        </p>
      ))}
      {problems.length > 0 && (
        <p>
          <a href="#/jobs">Jobs</a> and <a href="#/schedules">Schedules</a> show more; commands that are named are those
          of <a href="/docs/command-line">the command line</a>.
        </p>
      )}
      {failing.length > 0 && (
        <p>
          Schedules whose last run failed:{' '}
          {failing.map(({ id, name }) => (
            <a class="item" key={id} href={`#/schedules/${id}`}>
              {shown(name)}
            </a>
          ))}
        </p>
      )}
      {problems.length === 0 && <p class="status succeeded">Nothing needs anybody’s attention.</p>}
      <dl>
        <dt>Wharf</dt>
        <dd>{version}</dd>
        <dt>Database</dt>
        <dd>
          {database.name} on PostgreSQL {database.version}, {toSize(database.bytes)},{' '}
          {toCounted(database.projects, 'project')}
        </dd>
        <dt>Queue</dt>
        <dd>{queue.kind === 'redis' ? 'Redis' : 'PostgreSQL'}</dd>
        <dt>Jobs</dt>
        <dd>
          <a href={jobsPath({ status: 'queued' })}>{toCount(jobs.waiting)} waiting</a>
          {jobs.waiting > 0 && ` (the oldest for ${inUnits(jobs.oldestWaitingSeconds)})`},{' '}
          <a href={jobsPath({ status: 'running' })}>{toCount(jobs.running)} running</a>,{' '}
          <a href={jobsPath({ status: 'failed' })}>{toCount(jobs.failed)} failed within a day</a>
        </dd>
        <dt>Archives</dt>
        <dd>
          {toCounted(storage.archives, 'archive')}, {toSize(storage.bytes)}, in {storage.location}
        </dd>
        <dt>Backup of Wharf</dt>
        <dd class={backup.enabled ? '' : 'status lacking'}>
          {backup.enabled ? <Time at={backup.lastAt} /> : 'none is made: set WHARF_BACKUP_KEY'}
        </dd>
      </dl>
      <h2>Processes</h2>
      {processes.length === 0 ? (
        <p>No process has been heard of lately.</p>
      ) : (
        <Table
          label="Processes"
          columns={PROCESS_COLUMNS}
          rows={processes}
          keyOf={({ host, pid }) => `${host} ${pid}`}
        />
      )}
    </>
  )
}

/** A path, or the name of a variable, begins as it is written. */
const asSentence = (text: string): string => text.replace(/^[a-z]/, (letter) => letter.toUpperCase())

const PROCESS_COLUMNS: readonly Column<Status['processes'][number]>[] = [
  { title: 'Does', draw: ({ parts }) => parts.join(', ') },
  { title: 'Host', draw: ({ host }) => host },
  { title: 'Process', draw: ({ pid }) => pid },
  { title: 'Version', draw: ({ version }) => version },
  { title: 'Started', draw: ({ startedAt }) => <Time at={startedAt} /> },
]

const STATUS_CLASSES = { ok: 'succeeded', warning: 'running', fault: 'failed', skipped: 'quiet' } as const

const CHECK_COLUMNS: readonly Column<Doctor['checks'][number]>[] = [
  { title: 'Looked at', draw: ({ name }) => name },
  { title: 'Status', draw: ({ status }) => status, classOf: ({ status }) => `status ${STATUS_CLASSES[status]}` },
  { title: 'Found', draw: ({ detail }) => shown(detail) },
]

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
      {value && <Table label="Health" columns={CHECK_COLUMNS} rows={value.checks} keyOf={({ name }) => name} />}
    </>
  )
}
