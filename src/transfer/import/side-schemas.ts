import { randomUUID } from 'node:crypto'
import { readClock } from '../../database/clock.ts'
import type { Database, Queryable, Transaction } from '../../database/database.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'

/** A stage as its own database knows it. */
export interface StageIdentity {
  readonly stageId: string
  readonly schemaName: string
  readonly login: string
}

export interface SideSchema {
  readonly schemaName: string
  readonly stageId: string
  readonly kind: string
}

/** Makes an empty schema beside a stage's own, for an import to load into. @returns its name. */
export async function createLoadingSchema(system: Database, stage: StageIdentity): Promise<string> {
  const name = sideName(stage, 'new')
  await system.prisma.$transaction(async (tx) => {
    await tx.sideSchema.create({ data: { schemaName: name, stageId: stage.stageId, kind: 'loading' } })
    await tx.$executeRawUnsafe(`CREATE SCHEMA ${quoteIdentifier(name)} AUTHORIZATION ${quoteIdentifier(stage.login)}`)
  })
  return name
}

/** A name of its own for a schema beside the stage's; stage schema names leave room for it. */
export const sideName = ({ schemaName }: StageIdentity, suffix: 'new' | 'old'): string =>
  `${schemaName}.${suffix}-${randomUUID().slice(0, 8)}`

/**
 * Drops a schema beside a stage's own, and its record. The caller has the stage's lock, so that nobody who still loads
 * into it can be anything but the session of an import that is gone, though PostgreSQL may not have noticed.
 *
 * @returns false where somebody still reads its tables (an export that began before it was replaced, say): it is there
 *   then, for the next sweep.
 */
export async function dropSideSchema(system: Database, schemaName: string): Promise<boolean> {
  const drop = async (tx: Transaction): Promise<boolean> => {
    await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = '2s'`)
    await tx.$executeRawUnsafe(`DROP SCHEMA IF EXISTS ${quoteIdentifier(schemaName)} CASCADE`)
    await tx.sideSchema.deleteMany({ where: { schemaName } })
    return true
  }
  await endSessionsIn(system, schemaName)
  return system.prisma.$transaction(drop, { timeout: 10 * 60_000 }).catch((error: unknown) => {
    if (sqlState(error) === SQLSTATE.lockNotAvailable) return false
    throw error
  })
}

/** Who makes a table in a schema has a lock on the schema until the end of the transaction; who reads one has not. */
const endSessionsIn = (system: Database, schemaName: string): Promise<unknown> =>
  system.prisma.$queryRaw`
    SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE datname = current_database() AND classid = 'pg_namespace'::regclass
      AND objid = to_regnamespace(quote_ident(${schemaName}))`

/** Those that imports which died were loading into, and those kept longer than they have to be. */
export async function listDroppable(system: Queryable, stageIds?: readonly string[]): Promise<readonly SideSchema[]> {
  const now = await readClock(system)
  return system.sideSchema.findMany({
    where: {
      ...(stageIds && { stageId: { in: [...stageIds] } }),
      OR: [{ kind: 'loading' }, { kind: 'kept', expiresAt: { lte: now } }],
    },
    select: { schemaName: true, stageId: true, kind: true },
  })
}
