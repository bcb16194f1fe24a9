import { randomUUID } from 'node:crypto'
import type { ImportedProject } from '../../../contract/import.ts'
import type { Transaction } from '../../../database/database.ts'
import { nameTransaction } from '../../../database/session-name.ts'
import { isAppError } from '../../../errors.ts'
import { logReplacedIfLogged } from '../../../events/attached/log-import.ts'
import { replaceLog } from '../../../events/load-log.ts'
import type { ProjectDatabase } from '../../../projects/stage-database.ts'
import type { Query } from '../../structure/query.ts'
import type { ImportOptions, ImportServices } from '../import-options.ts'
import { toImported } from '../import-result.ts'
import { applyRoles, lockRoles, planRolesOf } from '../import-roles.ts'
import { type LoadedStage, sessionOf } from '../load-stage.ts'
import { assertMayBuild } from '../structure-permission.ts'
import type { TargetProject } from '../targets.ts'
import { commitOnce } from './commit-once.ts'
import { type CommittedImport, canRecord, recordCommitted } from './committed-imports.ts'
import { type Exchange, type ExchangeOptions, exchangeStages } from './exchange.ts'
import { externalSchemaName } from './external-schemas.ts'
import { noteOfImport } from './imports-in-doubt.ts'
import { recordExternal } from './record-external.ts'
import { readSharedTypesState } from './staying-types.ts'

/**
 * Makes an import into stages of a database that is not Wharf's visible at one moment. Two databases take part: the one
 * of the stages commits first, and has it written down there, and Wharf's follows.
 *
 * @throws {AppError} CONFLICT, FORBIDDEN, UNAUTHENTICATED; what `authorise` and `beforeCommit` throw. Nothing has changed
 *   then. DATABASE_UNAVAILABLE where the database was lost, and it is not known whether it has.
 */
export async function commitExternal(
  services: ImportServices,
  { target, loaded }: { readonly target: TargetProject; readonly loaded: readonly LoadedStage[] },
  options: ImportOptions,
): Promise<readonly ImportedProject[]> {
  const { tokenId, authorise, beforeCommit, operation = { id: randomUUID(), attempt: 1 } } = options
  const { sessionName = `wharf import ${operation.id}` } = options
  const { undoHours } = services
  const { archived, project, stages } = target
  const [external] = stages
  if (!external) return []
  const exchanges = loaded.flatMap((stage) => toExchange(stage, undoHours > 0))
  const inPlace = loaded.filter(({ schemaName }) => schemaName === undefined)
  const doubt = { id: operation.id, stageId: stages[0]?.stage.id ?? '', sessionName }
  const note = noteOfImport(services.system, doubt)
  let isCommitted = false
  const commit = async (
    tx: Transaction,
    { typesStates, isRecorded }: { readonly typesStates: TypesStates; readonly isRecorded: boolean },
  ): Promise<readonly ImportedProject[]> => {
    await nameTransaction(tx, sessionName)
    await lockRoles(tx, archived.system ? [project.id] : [])
    const caller = await authorise(tx, [archived], [project.slug])
    await assertMayBuild(tx, tokenId, stages)
    const roles = await planRolesOf(tx, target, caller)
    if (roles) {
      await applyRoles(tx, project.id, roles)
      const { eventsSince } = archived
      for (const { stage } of stages) await replaceLog(tx, stage.id, { tokenId, eventsSince })
    }
    const imported = [toImported(target, loaded, roles, services)]
    const committed = toCommitted(
      { loaded, exchanges, typesStates },
      imported,
      options.restOfResult?.([archived]) ?? {},
    )
    const logged = { tokenId, isNewLog: roles !== undefined }
    const record = isRecorded ? { operation, committed } : undefined
    // What can be done before readers wait is.
    await recordExternal(tx, committed, { tokenId, undoHours, jobId: operation.id })
    await note.remove(tx)
    const follow = async (): Promise<void> => beforeCommit?.(tx, imported, [archived])
    if (inPlace.length === 0) {
      await exchangeStages(external, exchanges, { ...options, sessionName, record, logged, beforeCommit: follow })
    } else {
      await follow()
      await commitHere(inPlace, { record, logged, sessionName })
    }
    isCommitted = true
    return imported
  }
  try {
    const typesStates = await readTypesStates(external, exchanges)
    const isRecorded = await canRecord(external.database)
    await note.write(isRecorded ? 'committing' : 'uncertain')
    return await services.system.prisma.$transaction((tx) => commit(tx, { typesStates, isRecorded }), {
      timeout: 10 * 60_000,
    })
  } catch (error) {
    // Where it may have been committed there, it is looked there before anybody says how it ended.
    if (!isCommitted && !isAppError(error, 'DATABASE_UNAVAILABLE')) await note.remove(services.system.prisma)
    throw error
  } finally {
    for (const { rollback } of loaded) rollback()
  }
}

const toExchange = ({ target, schemaName }: LoadedStage, isKept: boolean): readonly Exchange[] =>
  schemaName === undefined ? [] : [{ target, loaded: schemaName, kept: isKept ? externalSchemaName('old') : null }]

/** By the name of the schema that was loaded. */
type TypesStates = ReadonlyMap<string, string>

async function readTypesStates({ database }: ProjectDatabase, exchanges: readonly Exchange[]): Promise<TypesStates> {
  const query: Query = (sql, parameters) => database.prisma.$queryRawUnsafe(sql, ...parameters)
  const states = new Map<string, string>()
  for (const { target, loaded } of exchanges) {
    states.set(loaded, await readSharedTypesState(query, target.stage.schemaName, loaded))
  }
  return states
}

interface Exchanging {
  readonly loaded: readonly LoadedStage[]
  readonly exchanges: readonly Exchange[]
  readonly typesStates: TypesStates
}

const toCommitted = (
  { loaded, exchanges, typesStates }: Exchanging,
  imported: readonly ImportedProject[],
  rest: Readonly<Record<string, unknown>>,
): CommittedImport => ({
  stages: loaded.map(({ target, schemaName }) => ({
    stageId: target.stage.id,
    loaded: schemaName ?? null,
    kept: exchanges.find((exchange) => exchange.loaded === schemaName)?.kept ?? null,
    exchanged: target.exchanged,
    typesState: typesStates.get(schemaName ?? '') ?? '',
  })),
  imported,
  rest,
})

/**
 * Commits what was loaded into stages' own schemas, in one session.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE where the database was lost, and it is not known whether it has.
 */
export async function commitHere(
  loaded: readonly LoadedStage[],
  { record, logged, sessionName = '' }: Pick<ExchangeOptions, 'record' | 'logged' | 'sessionName'>,
): Promise<void> {
  const [first] = loaded
  if (!first) return
  const query: Query = (sql, parameters) => sessionOf(first).query(sql, parameters)
  for (const { target } of loaded) await logReplacedIfLogged(query, target.stage.schemaName, logged)
  if (record) await recordCommitted(query, record.operation, record.committed)
  const { database } = first.target
  await commitOnce(first.commit, { database, sessionName, operation: record?.operation })
}
