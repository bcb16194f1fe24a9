import type pg from 'pg'
import { quoteLiteral } from '../../database/quoting.ts'
import type { Query } from '../structure/query.ts'
import { type LockedSource, lockStatement, type SnapshotOptions, type SnapshotSource } from './locked-source.ts'
import { openReadingSession, type ReadingSession } from './reading-session.ts'
import { takeHelp } from './spare-sessions.ts'

/** How many bytes each table has, by object id, with what is stored out of line. */
export type TableSizes = ReadonlyMap<string, number>

/** How many bytes of tables are worth a session. */
const BYTES_PER_SESSION = 16 * 1024 * 1024

/**
 * Opens sessions that read rows of the same snapshot, as far as there are connections that nobody else needs. They are no
 * more than a help: where one cannot be had, there is one less.
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
  const lender = await findLender(source, first.query, wanted)
  if (!lender?.hasRoom()) return helpers
  try {
    const [id, server] = await Promise.all([exportSnapshot(first.query), serverOf(first.query)])
    while (helpers.length < wanted && lender.hasRoom()) {
      const session = await lender.open(sessionName).catch(() => undefined)
      if (!session) break
      opened.push(session)
      signal?.throwIfAborted()
      try {
        // Were it to wait behind somebody who waits for this export to end, neither would ever go on.
        await session.execute(`${lockStatement(locked, 'NOWAIT')}; ${setSnapshot(id)}`)
        if ((await serverOf(session.query)) !== server) throw new Error('the session is on another server')
      } catch {
        session.close(new Error('the session is of no help'))
        break
      }
      helpers.push(session)
    }
    return helpers
  } finally {
    lender.giveRestBack()
  }
}

/** Lends sessions one by one, for as long as there is room. */
interface Lender {
  hasRoom(): boolean
  open(sessionName: string): Promise<ReadingSession>
  /** Leaves to others what was not lent. */
  giveRestBack(): void
}

async function findLender(
  { database, helpers }: SnapshotSource,
  query: Query,
  wanted: number,
): Promise<Lender | undefined> {
  if (!helpers) return lenderOfHalf(database.pool)
  const help = await takeHelp(helpers, query, wanted)
  if (!help) return undefined
  let reserved = help.sessions
  return {
    hasRoom: () => reserved > 0,
    async open(sessionName) {
      const session = await openReadingSession(help.pool, sessionName)
      reserved -= 1
      return givingBack(session, () => helpers.room.giveBack(1))
    },
    giveRestBack() {
      helpers.room.giveBack(reserved)
      reserved = 0
    },
  }
}

/** Half of a pool is left to others. */
const lenderOfHalf = (pool: pg.Pool): Lender => ({
  hasRoom: () => pool.waitingCount === 0 && pool.totalCount - pool.idleCount < pool.options.max / 2,
  open: (sessionName) => openReadingSession(pool, sessionName),
  giveRestBack: () => undefined,
})

/** The same session, which calls `giveBack` once it has ended. */
function givingBack(session: ReadingSession, giveBack: () => void): ReadingSession {
  let isHeld = true
  const release = (): void => {
    if (isHeld) giveBack()
    isHeld = false
  }
  return {
    ...session,
    end: () => session.end().then(release),
    close(error) {
      session.close(error)
      release()
    },
  }
}

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

/**
 * What tells a server from every other. Several may be behind one address, and snapshots of two can have the same id: it is made of
 * a transaction's number.
 */
async function serverOf(query: Query): Promise<string | undefined> {
  const [row] = await query<{ startedAt: string }>(
    'SELECT pg_catalog.pg_postmaster_start_time()::pg_catalog.text AS "startedAt"',
    [],
  )
  return row?.startedAt
}

export async function exportSnapshot(query: Query): Promise<string> {
  const [row] = await query<{ id: string }>('SELECT pg_catalog.pg_export_snapshot() AS id', [])
  if (!row) throw new Error('PostgreSQL exported no snapshot')
  return row.id
}
