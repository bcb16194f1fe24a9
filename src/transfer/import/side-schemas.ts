import { randomUUID } from 'node:crypto'
import type { Database, Queryable, Transaction } from '../../database/database.ts'
import { quoteIdentifier } from '../../database/quoting.ts'

/** A stage as its own database knows it. */
export interface StageIdentity {
  readonly stageId: string
  readonly schemaName: string
  readonly login: string
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

/** Drops a schema beside a stage's own, and its record. */
export async function dropSideSchema(system: Database, schemaName: string): Promise<void> {
  await system.prisma.$transaction((tx) => dropSideSchemaIn(tx, schemaName), { timeout: 10 * 60_000 })
}

export async function dropSideSchemaIn(tx: Transaction, schemaName: string): Promise<void> {
  await tx.$executeRawUnsafe(`DROP SCHEMA IF EXISTS ${quoteIdentifier(schemaName)} CASCADE`)
  await tx.sideSchema.deleteMany({ where: { schemaName } })
}

/** The schemas that imports of this stage were loading into. While its lock is held, none of them is in use. */
export async function listLoadingSchemas(system: Queryable, stageId: string): Promise<readonly string[]> {
  const rows = await system.sideSchema.findMany({ where: { stageId, kind: 'loading' }, select: { schemaName: true } })
  return rows.map(({ schemaName }) => schemaName)
}
