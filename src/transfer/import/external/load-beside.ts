import { conflict } from '../../../errors.ts'
import type { Query } from '../../structure/query.ts'
import { followArchive } from '../follow-archive.ts'
import { type LoadedStage, type LoadStageOptions, loadStage } from '../load-stage.ts'
import { runAll } from '../loading-session.ts'
import type { Archive } from '../receive-archive.ts'
import type { TargetStage } from '../target-stage.ts'
import { dropDirectLeftovers } from './direct-schemas.ts'
import { createExternalSchema, externalSchemaName } from './external-schemas.ts'
import { commentIfOwned } from './move-comments.ts'

interface LoadBesideOptions extends Omit<LoadStageOptions, 'schemaName'> {
  /** Called with the name of the schema before it is made. */
  readonly note: (name: string) => Promise<void>
  readonly schemaName?: string
}

/**
 * Loads a stage of a database that is not Wharf's from an archive that has arrived: into a schema of its own, which is
 * committed and nobody looks into, or in place, which waits to be committed.
 */
export async function loadBeside(
  archive: Archive,
  target: TargetStage,
  { note, schemaName = externalSchemaName('new'), ...options }: LoadBesideOptions,
): Promise<LoadedStage> {
  const follower = followArchive(archive, options)
  if (target.mode === 'in place') return loadStage(follower, target, { ...options, schemaName: undefined })
  if (isBuiltWhereItIs(target)) {
    const built = await loadStage(follower, target, { ...options, schemaName: target.stage.schemaName })
    const query: Query = (sql, parameters) => built.session.query(sql, parameters)
    await runAll(built.session, await commentIfOwned(query, target.stage.schemaName, target.comment))
    return { ...built, schemaName: undefined }
  }
  await dropDirectLeftovers(target.database)
  await note(schemaName)
  await createExternalSchema(target.database, schemaName, target.comment)
  const loaded = await loadStage(follower, target, { ...options, schemaName })
  await loaded.commit()
  return loaded
}

/** Nobody reads a stage that is empty. What comes with a range type could not be moved into it. */
const isBuiltWhereItIs = ({ mode, exchanged, structure }: TargetStage): boolean =>
  mode === 'build' && exchanged === 'objects' && structure.inOrder.some(({ kind }) => kind === 'range')

/** What is not loaded beside is committed by itself. @throws {AppError} CONFLICT where there is more. */
export function assertOneCommit(loaded: readonly LoadedStage[]): void {
  const built = loaded.find(({ schemaName }) => schemaName === undefined)
  if (!built || loaded.length === 1) return
  throw conflict(
    `nothing was changed: stage "${built.target.stage.slug}" has range types, which cannot be moved, and so cannot become ` +
      'visible at one moment with others; import it by itself',
  )
}
