import type pg from 'pg'
import type { Database, Transaction } from '../../database/database.ts'
import { quoteLiteral, quoteQualified } from '../../database/quoting.ts'
import { nameTransaction } from '../../database/session-name.ts'
import type { ProjectDatabase } from '../../projects/stage-database.ts'
import type { Stage } from '../../projects/stages.ts'
import type { Query } from '../structure/query.ts'
import { openReadingSession, type ReadingSession } from './reading-session.ts'

/** An export may take days; what ends it is its client, or the service, never a clock of Prisma's. */
const TRANSACTION_OPTIONS = { isolationLevel: 'RepeatableRead', timeout: 2 ** 31 - 1, maxWait: 30_000 } as const

/** Stages of one database that are to be read. */
export interface SnapshotSource extends ProjectDatabase {
  readonly stages: readonly Stage[]
}

/** The same as they were at the moment of the snapshot. */
export interface SourceSnapshot extends SnapshotSource {
  /** Reads as the login that may read the stages. */
  readonly session: ReadingSession
  /** That session, and others that read rows of the same snapshot beside it. */
  readonly readers: readonly ReadingSession[]
  readonly takenAt: Date
  /** The tables, as object ids, by stage slug; those that can be read are held against change until the transaction ends. */
  readonly lockedTables: ReadonlyMap<string, ReadonlySet<string>>
}

export interface SnapshotOptions {
  /** What PostgreSQL calls the transactions' sessions meanwhile (`application_name`). */
  readonly sessionName: string
  /** How many sessions read rows of one database side by side, at most. */
  readonly jobs: number
  /** Once aborted, no session is begun that could not be found by its name by then. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Opens a read-only transaction for Wharf, and `withSnapshots` with those of the sources in Wharf's own database on the
 * snapshot of Wharf's.
 *
 * @param snapshots lends the connection that Wharf's transaction keeps.
 * @param use gets the transaction that reads control and system tables as Wharf's own login.
 */
export function withOwnSnapshot<T>(
  snapshots: Database,
  sources: readonly SnapshotSource[],
  use: (tx: Transaction, read: readonly SourceSnapshot[]) => Promise<T>,
  options: SnapshotOptions,
): Promise<T> {
  return snapshots.prisma.$transaction(async (tx) => {
    await tx.$executeRawUnsafe('SET TRANSACTION READ ONLY')
    await nameTransaction(tx, options.sessionName)
    return withSnapshots(sources, (read) => use(tx, read), { ...options, leader: tx })
  }, TRANSACTION_OPTIONS)
}

/**
 * Opens a read-only transaction for each source: those in Wharf's own database on one snapshot, each of another database
 * on one of its own.
 *
 * Tables are locked (ACCESS SHARE) before a snapshot is taken: a statement that rewrites or truncates a table is
 * not safe under MVCC, so that a snapshot older than it would find the table empty.
 *
 * @param options `leader`: a transaction of Wharf's, for sources in its own database, which has not read anything.
 * @see https://www.postgresql.org/docs/current/mvcc-caveats.html
 * @see https://www.postgresql.org/docs/current/sql-set-transaction.html for the sharing of snapshots.
 */
export async function withSnapshots<T>(
  sources: readonly SnapshotSource[],
  use: (read: readonly SourceSnapshot[]) => Promise<T>,
  { leader, ...options }: SnapshotOptions & { readonly leader?: Transaction },
): Promise<T> {
  // Before any transaction is open: were each to wait for a connection more, they could use up all that there are.
  const found = await Promise.all(sources.map(async (source) => ({ source, tables: await listTables(source) })))
  const opened: ReadingSession[] = []
  try {
    const locked: LockedSource[] = []
    for (const each of found) locked.push(await lockSource(each, opened, options))
    const own = leader && locked.some(({ source }) => source.isOwn) ? await exportOwn(leader) : undefined
    const read: SourceSnapshot[] = []
    for (const each of locked) read.push(await takeSnapshot(each, own, opened, options))
    const result = await use(read)
    for (const session of opened) await session.end()
    return result
  } finally {
    for (const session of opened) session.close(new Error('the export has ended'))
  }
}

/** The snapshot of Wharf's own database, by whose id others take the same. */
interface OwnSnapshot {
  readonly id: string
  readonly takenAt: Date
}

interface FoundSource {
  readonly source: SnapshotSource
  /** By stage slug. */
  readonly tables: ReadonlyMap<string, readonly FoundTable[]>
}

interface LockedSource extends FoundSource {
  readonly session: ReadingSession
}

interface FoundTable {
  readonly oid: string
  readonly name: string
  readonly isReadable: boolean
}

/** @param opened gets the session, so that it is closed whatever happens. */
async function lockSource(
  { source, tables }: FoundSource,
  opened: ReadingSession[],
  { sessionName, signal }: SnapshotOptions,
): Promise<LockedSource> {
  const session = await openReadingSession(source.database.pool, sessionName)
  opened.push(session)
  // From here on the session has its name, by which it is found and ended.
  signal?.throwIfAborted()
  await session.execute(lockStatement({ source, tables }))
  return { source, tables, session }
}

/** @param own the snapshot of Wharf's own database, where that was taken. */
async function takeSnapshot(
  { source, tables, session }: LockedSource,
  own: OwnSnapshot | undefined,
  opened: ReadingSession[],
  options: SnapshotOptions,
): Promise<SourceSnapshot> {
  const shared = source.isOwn ? own : undefined
  if (shared) await session.execute(setSnapshot(shared.id))
  const takenAt = shared?.takenAt ?? (await readTime(session.query))
  const lockedTables = new Map([...tables].map(([slug, list]) => [slug, new Set(list.map(({ oid }) => oid))]))
  const helpers = await openHelpers({ source, tables, session }, opened, options)
  return { ...source, session, readers: [session, ...helpers], takenAt, lockedTables }
}

/** How many bytes of tables are worth a session. */
const BYTES_PER_SESSION = 16 * 1024 * 1024

/**
 * Opens sessions that read rows of the same snapshot, as far as there are connections that nobody else waits for. They are
 * no more than a help: where one cannot be had, there is one less.
 */
async function openHelpers(
  locked: LockedSource,
  opened: ReadingSession[],
  { jobs, sessionName, signal }: SnapshotOptions,
): Promise<readonly ReadingSession[]> {
  const { source, session: first } = locked
  const helpers: ReadingSession[] = []
  const wanted = jobs > 1 ? Math.min(jobs, Math.ceil((await readBytes(locked)) / BYTES_PER_SESSION)) - 1 : 0
  if (wanted < 1) return helpers
  const id = await exportSnapshot(first.query)
  while (helpers.length < wanted && hasRoom(source.database.pool)) {
    const session = await openReadingSession(source.database.pool, sessionName).catch(() => undefined)
    if (!session) break
    opened.push(session)
    signal?.throwIfAborted()
    try {
      // Were it to wait behind somebody who waits for this export to end, neither would ever go on.
      await session.execute(`${lockStatement(locked, 'NOWAIT')}; ${setSnapshot(id)}`)
    } catch {
      session.close(new Error('the session is of no help'))
      break
    }
    helpers.push(session)
  }
  return helpers
}

/** Half of a pool is left to others. */
const hasRoom = ({ totalCount, idleCount, waitingCount, options }: pg.Pool): boolean =>
  waitingCount === 0 && totalCount - idleCount < options.max / 2

/** How large the tables are, which are locked: to ask that of one that somebody else has locked means to wait. */
async function readBytes({ tables, session }: LockedSource): Promise<number> {
  const readable = [...tables.values()].flat().filter(({ isReadable }) => isReadable)
  const [row] = await session.query<{ bytes: number }>(
    `SELECT COALESCE(pg_catalog.sum(pg_catalog.pg_table_size(oid)), 0)::pg_catalog.float8 AS bytes
       FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS oid`,
    [readable.map(({ oid }) => oid)],
  )
  return row?.bytes ?? 0
}

const setSnapshot = (id: string): string => `SET TRANSACTION SNAPSHOT ${quoteLiteral(id)}`

async function exportSnapshot(query: Query): Promise<string> {
  const [row] = await query<{ id: string }>('SELECT pg_catalog.pg_export_snapshot() AS id', [])
  if (!row) throw new Error('PostgreSQL exported no snapshot')
  return row.id
}

async function readTime(query: Query): Promise<Date> {
  const [row] = await query<{ now: Date }>('SELECT pg_catalog.clock_timestamp() AS now', [])
  if (!row) throw new Error('PostgreSQL gave no time')
  return row.now
}

async function exportOwn(leader: Transaction): Promise<OwnSnapshot> {
  const query: Query = (sql, parameters) => leader.$queryRawUnsafe(sql, ...parameters)
  return { id: await exportSnapshot(query), takenAt: await readTime(query) }
}

/** The tables of each stage, by its slug, outside the transaction that locks them, whose snapshot must not be taken yet. */
async function listTables({ database, stages }: SnapshotSource): Promise<FoundSource['tables']> {
  const listed = new Map<string, readonly FoundTable[]>()
  for (const { slug, schemaName } of stages) {
    // Not by Prisma, which hides why there is no session.
    const { rows } = await database.pool.query<FoundTable>(TABLES_SQL, [schemaName])
    listed.set(slug, rows)
  }
  return listed
}

/**
 * Locks tables against change of their structure, but for those that the login may not read: they can be left out of an
 * export, which fails on them otherwise.
 */
function lockStatement({ source, tables }: FoundSource, wait = ''): string {
  const names = source.stages.flatMap(({ slug, schemaName }) =>
    (tables.get(slug) ?? [])
      .filter(({ isReadable }) => isReadable)
      .map(({ name }) => `ONLY ${quoteQualified(schemaName, name)}`),
  )
  return names.length === 0 ? '' : `LOCK TABLE ${names.join(', ')} IN ACCESS SHARE MODE ${wait}`
}

const TABLES_SQL = `
SELECT pg_class.oid::text AS oid, relname::text AS name,
       pg_catalog.has_table_privilege(pg_class.oid, 'SELECT') AS "isReadable"
  FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
 WHERE nspname = $1 AND relkind IN ('r', 'p')
 ORDER BY pg_class.oid`
