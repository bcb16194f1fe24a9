import type { Database, Transaction } from '../../database/database.ts'
import { nameTransaction } from '../../database/session-name.ts'
import type { Query } from '../structure/query.ts'
import { exportSnapshot, openHelpers, readSizes, setSnapshot, type TableSizes } from './helping-sessions.ts'
import {
  type FoundSource,
  type LockedSource,
  listTables,
  lockSource,
  type SnapshotOptions,
  type SnapshotSource,
} from './locked-source.ts'
import type { ReadingSession } from './reading-session.ts'

/** An export may take days; what ends it is its client, or the service, never a clock of Prisma's. */
const TRANSACTION_OPTIONS = { isolationLevel: 'RepeatableRead', timeout: 2 ** 31 - 1, maxWait: 30_000 } as const

/** The same as they were at the moment of the snapshot. */
export interface SourceSnapshot extends SnapshotSource {
  /** Reads as the login that may read the stages. */
  readonly session: ReadingSession
  /** That session, and others that read rows of the same snapshot beside it. */
  readonly readers: readonly ReadingSession[]
  readonly takenAt: Date
  /** Empty where one session reads all. */
  readonly sizes: TableSizes
  /** The tables, as they were found before the snapshot was taken. Those that could be read are held against change until the transaction ends. */
  readonly foundTables: FoundSource['tables']
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
  const locked = { source, tables, session }
  const sizes = options.jobs > 1 ? await readSizes(locked) : new Map<string, number>()
  const helpers = await openHelpers(locked, sizes, opened, options)
  return { ...source, session, readers: [session, ...helpers], takenAt, sizes, foundTables: tables }
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
