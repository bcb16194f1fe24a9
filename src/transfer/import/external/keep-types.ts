import { isChangedMeanwhile } from '../../../database/sqlstate.ts'
import { AppError, conflict } from '../../../errors.ts'
import type { StructureLines } from '../../structure/create-statements.ts'
import { grantStatements } from '../../structure/grants/grant-statements.ts'
import { readGrants } from '../../structure/grants/read-grants.ts'
import { isSecondStep, isTypeLine } from '../../structure/lines.ts'
import type { Query } from '../../structure/query.ts'
import { type LoadingSession, runAll } from '../loading-session.ts'
import type { TargetStage } from '../target-stage.ts'
import { moveTypes, readLastingTypes, readUsedTypes, type StageType } from './staying-types.ts'
import { watchForWaiting } from './while-nobody-waits.ts'

/** Types of a stage, in the transaction that loads beside it. */
export interface TypesInUse {
  /** What is still to be made. */
  readonly lines: StructureLines
  /** Gives them back to the stage, once all that needs them is made. */
  giveBack(): Promise<void>
  /** To be called in any case. */
  end(): void
}

/**
 * Lends the types of a stage to the schema beside it that is being loaded, so that the same types are used there. Nobody else
 * sees them there.
 *
 * @param giveUp is called where somebody waits for the transaction to end, to rename, alter or drop one of them.
 * @throws {AppError} CONFLICT where somebody has changed one meanwhile.
 */
export async function borrowTypes(
  session: LoadingSession,
  target: TargetStage,
  loading: string,
  giveUp: (reason: AppError) => void,
): Promise<TypesInUse> {
  const { stage, structure, isOwn, mode, database } = target
  const { schemaName } = stage
  const nothing: TypesInUse = { lines: structure, giveBack: async () => undefined, end: () => undefined }
  if (isOwn || mode !== 'swap') return nothing
  const query: Query = (sql, parameters) => session.query(sql, parameters)
  const types = await chooseTypes(query, target)
  if (types.length === 0) return nothing
  await move(session, moveTypes(types, schemaName, loading))
  const watch = await watchForWaiting(database, query, giveUp)
  return {
    end: watch.end,
    lines: withoutTypes(structure, types),
    async giveBack() {
      await move(session, moveTypes(types, loading, schemaName))
      const used = await readUsedTypes(query, schemaName, loading)
      const unused = types.find(({ oid }) => !used.some((each) => each.oid === oid))
      if (unused)
        throw conflict(`nothing was changed: what was loaded does not use the type "${unused.name}" of the stage`)
    },
  }
}

/** Those that can stay, but for those on which there will be other rights: an undo has to bring back the rights as well. */
async function chooseTypes(query: Query, { stage, login, rights }: TargetStage): Promise<readonly StageType[]> {
  const [schema] = await query<{ oid: string }>(
    'SELECT oid::text FROM pg_catalog.pg_namespace WHERE nspname = $1::pg_catalog.name',
    [stage.schemaName],
  )
  const granted = schema ? await readGrants(query, schema.oid) : []
  const changed = granted.filter(
    (object) => object.object === 'type' && grantStatements(login, [object], rights.grants).length > 0,
  )
  return readLastingTypes(
    query,
    stage.schemaName,
    changed.flatMap(({ name }) => name ?? []),
  )
}

function withoutTypes(structure: StructureLines, types: readonly StageType[]): StructureLines {
  const names = new Set(types.map(({ name }) => name))
  const inOrder = structure.inOrder.filter((line) => {
    const isOfType = isTypeLine(line) || (isSecondStep(line) && line.content.object === 'domain')
    return !(isOfType && names.has(line.content.name))
  })
  return { ...structure, inOrder }
}

async function move(session: LoadingSession, statements: readonly string[]): Promise<void> {
  await runAll(session, statements).catch((error: unknown) => {
    if (!isChangedMeanwhile(error)) throw error
    const detail = 'nothing was changed: a type of the stage was changed while the import ran; try again'
    throw new AppError('CONFLICT', detail, { cause: error })
  })
}
