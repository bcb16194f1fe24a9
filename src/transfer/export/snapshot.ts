import { readClock } from '../../database/clock.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../database/quoting.ts'
import type { ProjectDatabase } from '../../projects/stage-database.ts'
import type { Stage } from '../../projects/stages.ts'

/** An export may take days; what ends it is its client, or the service, never a clock of Prisma's. */
const TRANSACTION_OPTIONS = { isolationLevel: 'RepeatableRead', timeout: 2 ** 31 - 1, maxWait: 30_000 } as const

/** How long an export waits for a table that somebody else has locked, e.g. to alter it. */
const LOCK_TIMEOUT = '30s'

/** Stages of one database that are to be read. */
export interface SnapshotSource extends ProjectDatabase {
  readonly stages: readonly Stage[]
}

/** The same as they were at the moment of the snapshot. */
export interface SourceSnapshot extends SnapshotSource {
  /** Reads as the login that may read the stages. */
  readonly tx: Transaction
  readonly takenAt: Date
  /** The tables, as object ids, by stage slug; those that can be read are held against change until the transaction ends. */
  readonly lockedTables: ReadonlyMap<string, ReadonlySet<string>>
}

export interface SnapshotOptions {
  /** What PostgreSQL calls the transactions' sessions meanwhile (`application_name`). */
  readonly sessionName: string
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
    await begin(tx, options)
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
  return withLocked(found, [], options, async (locked) => {
    const own = leader && locked.some(({ isOwn }) => isOwn) ? await exportSnapshot(leader) : undefined
    const read: SourceSnapshot[] = []
    for (const source of locked) {
      if (source.isOwn && own) {
        await source.tx.$executeRawUnsafe(`SET TRANSACTION SNAPSHOT ${quoteLiteral(own.id)}`)
        read.push({ ...source, takenAt: own.takenAt })
      } else {
        read.push({ ...source, takenAt: await readClock(source.tx) })
      }
    }
    return use(read)
  })
}

async function exportSnapshot(tx: Transaction): Promise<{ readonly id: string; readonly takenAt: Date }> {
  const [row] = await tx.$queryRaw<{ id: string; takenAt: Date }[]>`
    SELECT pg_catalog.pg_export_snapshot() AS id, pg_catalog.clock_timestamp() AS "takenAt"`
  if (!row) throw new Error('PostgreSQL exported no snapshot')
  return row
}

type LockedSource = Omit<SourceSnapshot, 'takenAt'>

interface FoundSource {
  readonly source: SnapshotSource
  /** By stage slug. */
  readonly tables: ReadonlyMap<string, readonly FoundTable[]>
}

interface FoundTable {
  readonly oid: string
  readonly name: string
  readonly isReadable: boolean
}

/** One transaction inside the other, since each lasts as long as its callback. */
function withLocked<T>(
  [first, ...others]: readonly FoundSource[],
  locked: readonly LockedSource[],
  options: SnapshotOptions,
  use: (locked: readonly LockedSource[]) => Promise<T>,
): Promise<T> {
  if (!first) return use(locked)
  const { source, tables } = first
  return source.database.prisma.$transaction(async (tx) => {
    await begin(tx, options)
    // From here on the session has its name, by which it is found and ended.
    options.signal?.throwIfAborted()
    const lockedTables = new Map<string, ReadonlySet<string>>()
    for (const { slug, schemaName } of source.stages) {
      lockedTables.set(slug, await lockTables(tx, schemaName, tables.get(slug) ?? []))
    }
    return withLocked(others, [...locked, { ...source, tx, lockedTables }], options, use)
  }, TRANSACTION_OPTIONS)
}

async function begin(tx: Transaction, { sessionName }: SnapshotOptions): Promise<void> {
  await tx.$executeRawUnsafe('SET TRANSACTION READ ONLY')
  await setForTransaction(tx, { ...SESSION_SETTINGS, application_name: sessionName })
}

/** What an export has other than every session (`session-settings.ts`). */
const SESSION_SETTINGS = {
  lock_timeout: LOCK_TIMEOUT,
  // A scan that begins in the middle of a table would give its rows in another order each time.
  synchronize_seqscans: 'off',
  jit: 'off',
  // Rows that a policy would hide are refused aloud instead of being left out.
  row_security: 'off',
}

/** SET LOCAL, unlike `set_config`, is no query, and so leaves the snapshot to be taken later. */
async function setForTransaction(tx: Transaction, settings: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) {
    await tx.$executeRawUnsafe(`SET LOCAL ${quoteIdentifier(name)} = ${quoteLiteral(value)}`)
  }
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
 * Locks a schema's tables against change of their structure, but for those that the login may not read: they can be left
 * out of an export, which fails on them otherwise.
 */
async function lockTables(
  tx: Transaction,
  schemaName: string,
  tables: readonly FoundTable[],
): Promise<ReadonlySet<string>> {
  const readable = tables.filter(({ isReadable }) => isReadable)
  if (readable.length > 0) {
    const names = readable.map(({ name }) => `ONLY ${quoteQualified(schemaName, name)}`)
    await tx.$executeRawUnsafe(`LOCK TABLE ${names.join(', ')} IN ACCESS SHARE MODE`)
  }
  return new Set(tables.map(({ oid }) => oid))
}

const TABLES_SQL = `
SELECT pg_class.oid::text AS oid, relname::text AS name,
       pg_catalog.has_table_privilege(pg_class.oid, 'SELECT') AS "isReadable"
  FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
 WHERE nspname = $1 AND relkind IN ('r', 'p')
 ORDER BY pg_class.oid`
