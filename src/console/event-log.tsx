import type { ComponentChildren } from 'preact'
import { type Client, RequestError } from './client.ts'
import { type Cell, parseExactly, toText } from './exact-json.ts'
import { Failure } from './failure.tsx'
import { Pager, usePages } from './pages.tsx'
import { shown } from './shown.ts'
import { useTokenNames } from './token-names.ts'
import type { Kept, LogEvent, Page } from './types.ts'
import { useLive } from './use-live.ts'
import { browserZone, inShort, Time, toCount, toRows } from './words.tsx'

const PAUSE_MS = 1_000

interface LogProps {
  readonly client: Client
  readonly project: string
  readonly stage: string
}

/** What happened to a stage, the newest first, as it grows. */
export function EventLog({ client, project, stage }: LogProps) {
  const pages = usePages(`${project} ${stage}`)
  const path = `/projects/${project}/stages/${stage}`
  const { value, failure } = useLive(
    `log ${path} ${pages.after}`,
    async (signal) => {
      const query = new URLSearchParams({ limit: '50', ...pages.query })
      const page = await client.json<Page<LogEvent>>(`${path}/events?${query}`, { signal })
      const undoId = pages.after === '' ? await findUndo(client, path, page.items, signal) : undefined
      return { ...page, undoId }
    },
    () => (pages.after === '' ? PAUSE_MS : undefined),
    true,
  )
  const tokenIds = new Set(value?.items.flatMap(({ tokenId }) => tokenId ?? []))
  const names = useTokenNames(client, [...tokenIds].toSorted())
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
      {value && value.items.length > 0 && <p class="quiet">Times are in {browserZone()}.</p>}
      <ol class="log">
        {value?.items.map((event) => (
          <li key={event.id}>
            <EventLine
              event={event}
              path={`${project}/${stage}`}
              isUndo={event.id === value.undoId}
              by={byWhom(event, names)}
            />
          </li>
        ))}
      </ol>
      <Pager pages={pages} next={value?.next} what="events" first="Newest events" />
    </>
  )
}

/**
 * The undo that a stage has what it has by, of its newest events; undefined where it is none of them, or where the token may not
 * see that. Whatever was imported later would have taken its place.
 */
async function findUndo(client: Client, path: string, newest: readonly LogEvent[], signal: AbortSignal) {
  const imported = newest.find(({ kind, importedAt }) => kind === 'import' && importedAt === null)
  if (!imported) return undefined
  const { kept } = await client.json<Kept>(`${path}/undo`, { signal }).catch((error: unknown) => {
    if (error instanceof RequestError && error.status === 403) return { kept: null }
    throw error
  })
  return kept?.undone ? imported.id : undefined
}

/** What was done to rows, and what stands between that and their table. */
const ROW_WORDS = {
  create: ['added', 'to'],
  update: ['changed', 'in'],
  delete: ['deleted', 'from'],
} as const

/** What any other event is called. The log has an undo as an import; of the last, it is known. */
const WORDS = {
  truncate: 'table emptied:',
  import: 'import, or undo of one',
  structure: 'structure changed',
} as const

interface WordsProps {
  readonly event: LogEvent
  readonly isUndo: boolean
  /** Its name, or a link to it. */
  readonly table: ComponentChildren
}

/** What happened: `279 rows deleted from inspection`. */
function EventWords({ event: { kind, rowCount }, isUndo, table }: WordsProps) {
  if (kind === 'create' || kind === 'update' || kind === 'delete') {
    const [done, preposition] = ROW_WORDS[kind]
    return (
      <>
        <strong>
          {toRows(rowCount)} {done}
        </strong>{' '}
        {preposition} {table}
      </>
    )
  }
  return (
    <>
      <strong>{isUndo ? 'undo of an import' : WORDS[kind]}</strong>
      {table && <> {table}</>}
      {rowCount > 0 && `, ${toRows(rowCount)}`}
    </>
  )
}

/** With which token it was done, as far as that is known: not of what came with the archive of another server. */
function byWhom({ tokenId, importedAt }: LogEvent, names: ReadonlyMap<string, string>): string | undefined {
  if (tokenId !== null) return shown(names.get(tokenId) ?? `the token ${tokenId.slice(0, 8)}`)
  return importedAt === null ? 'the root token or SQL' : undefined
}

interface LineProps {
  readonly event: LogEvent
  readonly path: string
  readonly isUndo: boolean
  readonly by: string | undefined
}

function EventLine({ event, path, isUndo, by }: LineProps) {
  const { kind, table, rowCount, rows, occurredAt, importedAt } = event
  const link = table !== null && <a href={`#/data/${path}/${encodeURIComponent(table)}`}>{shown(table)}</a>
  const head = (
    <>
      <span class="quiet">
        {inShort(occurredAt)}, <Time at={occurredAt} />
      </span>{' '}
      {/* What opens something has no link in it. */}
      <EventWords event={event} isUndo={isUndo} table={rows.length === 0 ? link : table !== null && shown(table)} />
      {by !== undefined && `, by ${by}`}
      {importedAt && (
        <>
          , came with an archive <Time at={importedAt} />
        </>
      )}
    </>
  )
  if (kind === 'structure') {
    return (
      <>
        {head}: <a href={`#/data/${path}`}>the tables as they are now</a>
      </>
    )
  }
  if (rows.length === 0) return head
  return (
    <details>
      <summary>{head}</summary>
      <ul class="plain">
        {rows.map((row, index) => (
          <li key={index} class="value">
            {shown(inOneLine(row))}
          </li>
        ))}
      </ul>
      {rowCount > rows.length && <p class="quiet">and {toCount(rowCount - rows.length)} more</p>}
      <p>All rows of {link} as they are now</p>
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
