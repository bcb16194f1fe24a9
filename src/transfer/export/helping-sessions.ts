import type pg from 'pg'
import { quoteLiteral } from '../../database/quoting.ts'
import type { Query } from '../structure/query.ts'
import { type LockedSource, lockStatement, type SnapshotOptions } from './locked-source.ts'
import { openReadingSession, type ReadingSession } from './reading-session.ts'

/** How many bytes each table has, by object id, with what is stored out of line. */
export type TableSizes = ReadonlyMap<string, number>

/** How many bytes of tables are worth a session. */
const BYTES_PER_SESSION = 16 * 1024 * 1024

/**
 * Opens sessions that read rows of the same snapshot, as far as there are connections that nobody else waits for. They are
 * no more than a help: where one cannot be had, there is one less.
 */
export async function openHelpers(
  locked: LockedSource,
  sizes: TableSizes,
  opened: ReadingSession[],
  { jobs, sessionName, signal }: SnapshotOptions,
): Promise<readonly ReadingSession[]> {
  const { source, session: first } = locked
  const helpers: ReadingSession[] = []
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0)
  const wanted = Math.min(jobs, Math.ceil(bytes / BYTES_PER_SESSION)) - 1
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
export async function readSizes({ tables, session }: LockedSource): Promise<TableSizes> {
  const readable = [...tables.values()].flat().filter(({ isReadable }) => isReadable)
  const rows = await session.query<{ oid: string; bytes: number }>(
    `SELECT oid::pg_catalog.text AS oid, pg_catalog.pg_table_size(oid)::pg_catalog.float8 AS bytes
       FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS oid`,
    [readable.map(({ oid }) => oid)],
  )
  return new Map(rows.map(({ oid, bytes }) => [oid, bytes]))
}

/** The statement by which a transaction takes a snapshot that another one has exported. */
export const setSnapshot = (id: string): string => `SET TRANSACTION SNAPSHOT ${quoteLiteral(id)}`

export async function exportSnapshot(query: Query): Promise<string> {
  const [row] = await query<{ id: string }>('SELECT pg_catalog.pg_export_snapshot() AS id', [])
  if (!row) throw new Error('PostgreSQL exported no snapshot')
  return row.id
}
