import { quoteQualified } from '../../database/quoting.ts'
import type { ProjectDatabase } from '../../projects/stage-database.ts'
import type { Stage } from '../../projects/stages.ts'
import type { HelperSource } from './helper-room.ts'
import { openReadingSession, type ReadingSession } from './reading-session.ts'

/** Stages of one database that are to be read. */
export interface SnapshotSource extends ProjectDatabase {
  readonly stages: readonly Stage[]
  /** Where others use the same connections; where it is left out, sessions that help are of `database`. */
  readonly helpers?: HelperSource
}

export interface SnapshotOptions {
  /** What PostgreSQL calls the transactions' sessions meanwhile (`application_name`). */
  readonly sessionName: string
  /** How many sessions read rows of one database side by side, at most. */
  readonly jobs: number
  /** Once aborted, no session is begun that could not be found by its name by then. */
  readonly signal?: AbortSignal | undefined
}

/** A source with the names of its tables. */
export interface FoundSource {
  readonly source: SnapshotSource
  /** By stage slug. */
  readonly tables: ReadonlyMap<string, readonly FoundTable[]>
}

/** The same with the session that has locked them. */
export interface LockedSource extends FoundSource {
  readonly session: ReadingSession
}

/** A table, as it was found before it was locked. */
export interface FoundTable {
  readonly oid: string
  readonly name: string
  readonly isReadable: boolean
}

/** Opens a session that locks the tables of a source. @param opened gets the session, so that it is closed whatever happens. */
export async function lockSource(
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

/** The tables of each stage, by its slug, outside the transaction that locks them, whose snapshot must not be taken yet. */
export async function listTables({ database, stages }: SnapshotSource): Promise<FoundSource['tables']> {
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
export function lockStatement({ source, tables }: FoundSource, wait = ''): string {
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
