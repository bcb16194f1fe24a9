import type { Client } from './client.ts'
import { type Cell, parseExactly, toText } from './exact-json.ts'
import { Failure } from './failure.tsx'
import { Pager, usePages } from './pages.tsx'
import type { LogEvent, Page } from './types.ts'
import { useLive } from './use-live.ts'
import { shown, Time, toCount, toRows } from './words.tsx'

const PAUSE_MS = 1_000

interface LogProps {
  readonly client: Client
  readonly project: string
  readonly stage: string
}

/** What happened to a stage, the newest first, as it grows. */
export function EventLog({ client, project, stage }: LogProps) {
  const pages = usePages(`${project} ${stage}`)
  const { value, failure } = useLive(
    `log ${project} ${stage} ${pages.after}`,
    (signal) => {
      const query = new URLSearchParams({ limit: '50', ...pages.query })
      return client.json<Page<LogEvent>>(`/projects/${project}/stages/${stage}/events?${query}`, { signal })
    },
    () => (pages.after === '' ? PAUSE_MS : undefined),
    true,
  )
  return (
    <>
      <h1>Event log</h1>
      <p>
        <a href={`#/data/${project}/${stage}`}>
          {project}, {stage}
        </a>
      </p>
      <Failure text={failure} />
      {value?.items.length === 0 && <p>Nothing happened yet.</p>}
      <ol class="log">
        {value?.items.map((event) => (
          <li key={event.id}>
            <EventLine event={event} path={`${project}/${stage}`} />
          </li>
        ))}
      </ol>
      <Pager pages={pages} next={value?.next} what="events" first="Newest events" />
    </>
  )
}

function EventLine({ event, path }: { readonly event: LogEvent; readonly path: string }) {
  const { kind, table, rowCount, rows, occurredAt, importedAt } = event
  const head = (
    <>
      <Time at={occurredAt} /> <strong>{kind}</strong>{' '}
      {table !== null && <a href={`#/data/${path}/${encodeURIComponent(table)}`}>{shown(table)}</a>}
      {rowCount > 0 && `, ${toRows(rowCount)}`}
      {importedAt && (
        <>
          , came with an archive <Time at={importedAt} />
        </>
      )}
    </>
  )
  if (rows.length === 0) return head
  return (
    <details>
      <summary>{head}</summary>
      <ul class="plain">
        {rows.map((row, index) => (
          <li key={index} class="value">
            {inOneLine(row)}
          </li>
        ))}
      </ul>
      {rowCount > rows.length && <p class="quiet">and {toCount(rowCount - rows.length)} more</p>}
    </details>
  )
}

/** A row as people read it; one that is cut off is no JSON. */
function inOneLine(row: string): string {
  try {
    const values = parseExactly(row) as Readonly<Record<string, Cell>>
    return Object.entries(values)
      .map(([name, value]) => `${name}: ${toText(value)}`)
      .join(', ')
  } catch {
    return row
  }
}
