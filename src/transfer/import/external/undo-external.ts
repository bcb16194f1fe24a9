import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { readClock } from '../../../database/clock.ts'
import type { Transaction } from '../../../database/database.ts'
import { AppError, conflict } from '../../../errors.ts'
import { withStageLocks } from '../../../projects/stage-locks.ts'
import { readGrantsState } from '../../structure/grants/stage-grants.ts'
import type { Query } from '../../structure/query.ts'
import { countSchemaRows } from '../count-rows.ts'
import { recordImport } from '../swap-stages.ts'
import {
  NOTHING_TO_UNDO,
  replacedMeanwhile,
  type Undone,
  type UndoneStage,
  type UndoOptions,
  type UndoServices,
} from '../undo-options.ts'
import { exchanged, undoneImportSchema } from '../undone-import.ts'
import { canRecord } from './committed-imports.ts'
import { exchangeStages } from './exchange.ts'
import { externalSchemaName } from './external-schemas.ts'
import { settleDoubts } from './settle-doubts.ts'
import { readSharedTypesState } from './staying-types.ts'
import { readStructureState } from './structure-state.ts'

const replacedBySchema = undoneImportSchema.extend({
  exchanged: z.enum(['schemas', 'objects']),
  /** Of the types that it shares with the stage; earlier versions shared none. */
  typesState: z.string().default(''),
})

/**
 * Puts back what the last import replaced in a database that is not Wharf's.
 *
 * @throws {AppError} CONFLICT where nothing is kept, or somebody goes on using a table; WRITTEN_SINCE where `force` is
 *   missing: it is not looked whether somebody wrote since.
 */
export async function undoExternal(
  services: UndoServices,
  stage: UndoneStage,
  { force, tokenId, authorise, onUndone }: UndoOptions,
): Promise<Undone> {
  const { system, imports, importTurns, undoHours } = services
  const { stageId, schemaName, login, database } = stage
  return importTurns.take([stage.projectId], async () => {
    const findSettled = async () => {
      // What an import keeps whose process died in the middle of the commit is what the last one replaced.
      await settleDoubts(services, [stageId])
      return findKept(system.prisma, stageId)
    }
    const counted = await withStageLocks({ imports, system }, [stageId], findSettled)
    if (!force) throw writtenSince()
    const tables = await countSchemaRows(stage, counted.schemaName)
    return withStageLocks({ imports, system }, [stageId], async (lost) => {
      const found = await findSettled()
      if (found.schemaName !== counted.schemaName) throw replacedMeanwhile()
      const query: Query = (sql, parameters) => database.prisma.$queryRawUnsafe(sql, ...parameters)
      const target = {
        stage: { id: stageId, slug: '', schemaName, createdAt: found.createdAt },
        login,
        exchanged: found.exchanged,
        structureState: await readStructureState(query, schemaName),
        rightsState: await readGrantsState(query, schemaName),
        rights: { grants: [] },
      }
      // Later than the structure, which is looked at again when nobody can change it.
      const typesState = await readSharedTypesState(query, schemaName, found.schemaName)
      if (typesState !== found.typesState) throw typesChanged(found.schemaName)
      const kept = externalSchemaName('old')
      const isRecorded = await canRecord(database)
      const stages = [{ stageId, loaded: found.schemaName, kept, exchanged: found.exchanged, typesState }]
      const committed = { stages, imported: [], rest: {} }
      const record = isRecorded ? { operation: { id: randomUUID(), attempt: 1 }, committed } : undefined
      return system.prisma.$transaction(
        async (tx) => {
          await authorise(tx)
          const now = exchanged(found)
          const replacedBy = { exchanged: found.exchanged, typesState, ...now }
          await recordUndone(tx, { stageId, tokenId, earlier: found, kept, replacedBy, undoHours })
          await onUndone(tx, now)
          // Without the locks, another may have begun to import.
          const beforeCommit = async (): Promise<void> => lost.throwIfAborted()
          const exchanges = [{ target, loaded: found.schemaName, kept }]
          await exchangeStages(stage, exchanges, {
            signal: lost,
            record,
            logged: { tokenId, isNewLog: false },
            beforeCommit,
          })
          return { replacedAt: found.createdAt, tables }
        },
        { timeout: 10 * 60_000 },
      )
    })
  })
}

async function findKept(database: Transaction, stageId: string) {
  const kept = await database.shadowSchema.findFirst({
    where: { stageId, kind: 'kept', expiresAt: { gt: await readClock(database) } },
  })
  const replacedBy = replacedBySchema.safeParse(kept?.replacedBy).data
  if (!kept?.expiresAt || !replacedBy) throw conflict(NOTHING_TO_UNDO)
  return { schemaName: kept.schemaName, createdAt: kept.createdAt, expiresAt: kept.expiresAt, ...replacedBy }
}

/** What was put back is the stage's now, and what it replaced is kept for as long as after an import. */
async function recordUndone(
  tx: Transaction,
  {
    stageId,
    tokenId,
    earlier,
    kept,
    replacedBy,
    undoHours,
  }: {
    readonly stageId: string
    readonly tokenId: string | null
    readonly earlier: { readonly schemaName: string; readonly expiresAt: Date }
    readonly kept: string
    readonly replacedBy: z.output<typeof replacedBySchema>
    readonly undoHours: number
  },
): Promise<void> {
  await tx.stageState.update({ where: { stageId }, data: { generation: { increment: 1 } } })
  const createdAt = await readClock(tx)
  const expiresAt = new Date(Math.max(earlier.expiresAt.getTime(), createdAt.getTime() + undoHours * 3_600_000))
  const data = { schemaName: kept, replacedBy, createdAt, expiresAt }
  await tx.shadowSchema.update({ where: { schemaName: earlier.schemaName }, data })
  await recordImport(tx, stageId, tokenId)
}

const typesChanged = (keptIn: string): AppError =>
  conflict(
    `a type that the stage shares with what is kept in the schema "${keptIn}" was changed or dropped since, so what is kept is not ` +
      'what was replaced any more; nothing was changed. data:undo --discard lets go of what is kept',
  )

const writtenSince = (): AppError =>
  new AppError(
    'WRITTEN_SINCE',
    'what was written to a database that is not Wharf’s is not looked at, so the stage may have been written to since: undo with force, ' +
      'which keeps what it has now until another undo',
  )
