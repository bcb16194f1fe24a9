import type { Database, Transaction } from '../../database/database.ts'
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../database/quoting.ts'
import type { Project } from '../../projects/projects.ts'
import type { Stage } from '../../projects/stages.ts'

/** An export may take days; what ends it is its client, or the service, never a clock of Prisma's. */
const TRANSACTION_OPTIONS = { isolationLevel: 'RepeatableRead', timeout: 2 ** 31 - 1, maxWait: 30_000 } as const

/** How long an export waits for a table that somebody else has locked, e.g. to alter it. */
const LOCK_TIMEOUT = '30s'

/** A project whose stages are to be read, and where. */
export interface SnapshotProject {
  readonly project: Project
  readonly stages: readonly Stage[]
  readonly database: Database
}

/** A project as it was at the moment of the snapshot. */
export interface ProjectSnapshot {
  readonly project: Project
  readonly stages: readonly Stage[]
  /** Reads as the project's own login. */
  readonly tx: Transaction
  /** The tables, as object ids, that are held against change until the transaction ends, by stage slug. */
  readonly lockedTables: ReadonlyMap<string, ReadonlySet<string>>
}

export interface Snapshot {
  /** Reads control and system tables as Wharf's own login. */
  readonly tx: Transaction
  readonly takenAt: Date
  readonly projects: readonly ProjectSnapshot[]
}

/**
 * Opens a read-only transaction for Wharf and one for each project's login, all on one snapshot.
 *
 * @param system answers short questions outside the snapshot; `snapshots` lends the connection that Wharf's
 *   transaction keeps. Were they one pool, exports could use it up while each waits for an answer.
 * @param sessionName what PostgreSQL calls the transactions' sessions meanwhile (`application_name`).
 * @param signal once aborted, no session is begun that could not be found by its name by then.
 *
 * Tables are locked (ACCESS SHARE) before the snapshot is taken: a statement that rewrites or truncates a table is
 * not safe under MVCC, so that a snapshot older than it would find the table empty.
 *
 * @see https://www.postgresql.org/docs/current/mvcc-caveats.html
 * @see https://www.postgresql.org/docs/current/sql-set-transaction.html for the sharing of snapshots.
 */
export function withSnapshot<T>(
  { system, snapshots }: { readonly system: Database; readonly snapshots: Database },
  projects: readonly SnapshotProject[],
  use: (snapshot: Snapshot) => Promise<T>,
  { sessionName, signal }: { readonly sessionName: string; readonly signal?: AbortSignal | undefined },
): Promise<T> {
  const settings = { ...SESSION_SETTINGS, application_name: sessionName }
  return snapshots.prisma.$transaction(async (tx) => {
    await tx.$executeRawUnsafe('SET TRANSACTION READ ONLY')
    await setForTransaction(tx, settings)
    return withLockedProjects({ system, settings, signal }, projects, [], async (locked) => {
      const [row] = await tx.$queryRaw<{ id: string; takenAt: Date }[]>`
        SELECT pg_export_snapshot() AS id, clock_timestamp() AS "takenAt"`
      if (!row) throw new Error('PostgreSQL exported no snapshot')
      for (const { tx: projectTx } of locked) {
        await projectTx.$executeRawUnsafe(`SET TRANSACTION SNAPSHOT ${quoteLiteral(row.id)}`)
      }
      return use({ tx, takenAt: row.takenAt, projects: locked })
    })
  }, TRANSACTION_OPTIONS)
}

/** One transaction inside the other, since each lasts as long as its callback. */
function withLockedProjects<T>(
  session: {
    readonly system: Database
    readonly settings: Readonly<Record<string, string>>
    readonly signal: AbortSignal | undefined
  },
  [first, ...others]: readonly SnapshotProject[],
  locked: readonly ProjectSnapshot[],
  use: (locked: readonly ProjectSnapshot[]) => Promise<T>,
): Promise<T> {
  if (!first) return use(locked)
  const { project, stages, database } = first
  return database.prisma.$transaction(async (tx) => {
    await tx.$executeRawUnsafe('SET TRANSACTION READ ONLY')
    await setForTransaction(tx, session.settings)
    // From here on the session has its name, by which it is found and ended.
    session.signal?.throwIfAborted()
    const lockedTables = new Map<string, ReadonlySet<string>>()
    for (const stage of stages) lockedTables.set(stage.slug, await lockTables(session.system, tx, stage.schemaName))
    return withLockedProjects(session, others, [...locked, { project, stages, tx, lockedTables }], use)
  }, TRANSACTION_OPTIONS)
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

/**
 * Locks a schema's tables against change of their structure. They are looked up outside the transaction, whose
 * snapshot must not be taken yet.
 */
async function lockTables(system: Database, tx: Transaction, schemaName: string): Promise<ReadonlySet<string>> {
  const tables = await system.prisma.$queryRaw<{ oid: string; name: string }[]>`
    SELECT pg_class.oid::text AS oid, relname::text AS name
    FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = ${schemaName} AND relkind IN ('r', 'p')
    ORDER BY pg_class.oid`
  if (tables.length > 0) {
    const names = tables.map(({ name }) => `ONLY ${quoteQualified(schemaName, name)}`)
    await tx.$executeRawUnsafe(`LOCK TABLE ${names.join(', ')} IN ACCESS SHARE MODE`)
  }
  return new Set(tables.map(({ oid }) => oid))
}
