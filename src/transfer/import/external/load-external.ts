import type { Query } from '../../structure/query.ts'
import { followArchive } from '../follow-archive.ts'
import { type LoadedStage, type LoadStageOptions, loadStage, sessionOf } from '../load-stage.ts'
import { runAll } from '../loading-session.ts'
import type { Archive } from '../receive-archive.ts'
import type { TargetStage } from '../target-stage.ts'
import { areBuiltHere, assertOneWay, inOrderOfNames } from './built-here.ts'
import { dropDirectLeftovers } from './direct-schemas.ts'
import { createExternalSchema, externalSchemaName } from './external-schemas.ts'
import { commentIfOwned } from './move-comments.ts'

interface LoadExternalOptions extends Omit<LoadStageOptions, 'schemaName' | 'session'> {
  /** Called with the stage, and the name of the schema beside it, before that is made. */
  readonly note: (target: TargetStage, name: string) => Promise<void>
  /** Gives schemas beside stages their names. */
  readonly nameSchema?: () => string
}

/**
 * Loads the stages of a database that is not Wharf's from an archive that has arrived: each into a schema of its own, which is
 * committed and nobody looks into; or in place, or all of them where they belong, which waits to be committed, in one
 * session.
 *
 * @throws {AppError} as `loadStage` and `assertOneWay`.
 */
export async function loadExternal(
  archive: Archive,
  stages: readonly TargetStage[],
  options: LoadExternalOptions,
): Promise<readonly LoadedStage[]> {
  assertOneWay(stages)
  if (areBuiltHere(stages)) return buildHere(archive, stages, options)
  const loaded: LoadedStage[] = []
  for (const target of stages) loaded.push(await loadBeside(archive, target, options))
  return loaded
}

async function loadBeside(
  archive: Archive,
  target: TargetStage,
  { note, nameSchema = () => externalSchemaName('new'), ...options }: LoadExternalOptions,
): Promise<LoadedStage> {
  const follower = followArchive(archive, options)
  if (target.mode === 'in place') return loadStage(follower, target, { ...options, schemaName: undefined })
  await dropDirectLeftovers(target.database)
  const schemaName = nameSchema()
  await note(target, schemaName)
  await createExternalSchema(target.database, schemaName, target.comment)
  const loaded = await loadStage(follower, target, { ...options, schemaName })
  await loaded.commit()
  return loaded
}

async function buildHere(
  archive: Archive,
  stages: readonly TargetStage[],
  options: LoadExternalOptions,
): Promise<readonly LoadedStage[]> {
  const loaded: LoadedStage[] = []
  for (const target of inOrderOfNames(stages)) {
    const { schemaName } = target.stage
    const follower = followArchive(archive, options)
    const built = await loadStage(follower, target, { ...options, schemaName, session: loaded[0]?.session })
    const buildingSession = sessionOf(built)
    const query: Query = (sql, parameters) => buildingSession.query(sql, parameters)
    await runAll(buildingSession, await commentIfOwned(query, schemaName, target.comment))
    loaded.push({ ...built, schemaName: undefined })
  }
  return loaded
}
