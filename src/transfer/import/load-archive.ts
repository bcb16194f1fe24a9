import type { Database } from '../../database/database.ts'
import { quoteLiteral } from '../../database/quoting.ts'
import { createStatements } from '../structure/create-statements.ts'
import type { CheckedArchive } from './checked-archive.ts'
import type { TargetProject, TargetStage } from './import-targets.ts'
import { inPlaceStatements } from './in-place.ts'
import { type EventLoadServices, loadEvents } from './load-events.ts'
import { type LoadedPart, type LoadedStage, loadStage } from './load-stage.ts'
import type { SessionOptions } from './loading-session.ts'
import { createLoadingSchema } from './side-schemas.ts'
import { openStageLoader } from './stage-loader.ts'

interface LoadDatabases extends EventLoadServices {
  readonly system: Database
}

interface LoadOptions extends SessionOptions {
  readonly tokenId: string | null
  readonly onRows?: ((loaded: LoadedPart) => void) | undefined
}

/**
 * Loads an archive into schemas beside the stages', and its event logs beside theirs. What has been loaded ahead is
 * taken as it is.
 *
 * @param databases `imports` lends a connection for as long as an event log takes.
 * @param archive what was checked before, and compared with `targets`.
 * @returns each stage, loaded and counted. Those beside are committed but not swapped in; one that was loaded in place
 *   waits to be committed or abandoned.
 * @throws {AppError} ARCHIVE_INVALID for a value that a column refuses; CONFLICT for a key, a foreign key or a check
 *   that the rows break. What was loaded so far is left in schemas that the caller drops.
 */
export async function loadArchive(
  databases: LoadDatabases,
  archive: CheckedArchive,
  targets: readonly TargetProject[],
  options: LoadOptions,
): Promise<readonly LoadedStage[]> {
  const loaded: LoadedStage[] = []
  try {
    for (const target of targets) {
      const { planned, stages } = target
      if (planned.system) {
        const lines = archive.read(planned.eventLines, options.signal)
        await databases.eventLoadTurns.take([target.project.id], () =>
          loadEvents(databases, stageIdsOf(target), lines, options),
        )
      }
      for (const stage of stages) {
        const ahead = await archive.ahead?.take(target.project, stage, options.signal)
        loaded.push(ahead ?? (await loadOne(databases.system, archive, target, stage, options)))
      }
    }
  } catch (error) {
    for (const stage of loaded) stage.abandon()
    throw error
  }
  return loaded
}

const stageIdsOf = ({ stages }: TargetProject): ReadonlyMap<string, string> =>
  new Map(stages.map(({ stage }) => [stage.slug, stage.id]))

async function loadOne(
  system: Database,
  archive: CheckedArchive,
  { project, database }: TargetProject,
  target: TargetStage,
  { tokenId, onRows, ...session }: LoadOptions,
): Promise<LoadedStage> {
  const { stage, mode, structure, planned } = target
  const inPlace = mode === 'in place'
  const identity = { stageId: stage.id, schemaName: stage.schemaName, login: project.login }
  const loadingSchema = inPlace ? undefined : await createLoadingSchema(system, identity, 'loading')
  const loader = await openStageLoader(database.pool, loadingSchema ?? stage.schemaName, session)
  try {
    const statements = inPlace ? await inPlaceStatements(loader, structure) : createStatements(structure)
    const loaded = await loadStage(loader, target, statements, {
      schemaName: loadingSchema,
      source: {
        tables: planned.tables,
        partsOf: ({ parts }) => parts,
        bytesOf: (_, { range }) => archive.read(range, session.signal),
        onRows,
      },
    })
    if (inPlace) {
      const token = tokenId === null ? 'NULL' : quoteLiteral(tokenId)
      await loader.execute(`SELECT wharf.record_import(${quoteLiteral(stage.id)}, ${token})`)
    } else {
      await loader.commit()
    }
    const commit = inPlace ? loader.commit : undefined
    return { ...loaded, target, project, loadingSchema, commit, abandon: loader.abandon }
  } catch (error) {
    loader.abandon()
    throw error
  }
}
