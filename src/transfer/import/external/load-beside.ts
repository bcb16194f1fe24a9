import { followArchive } from '../follow-archive.ts'
import { type LoadedStage, type LoadStageOptions, loadStage } from '../load-stage.ts'
import type { Archive } from '../receive-archive.ts'
import type { TargetStage } from '../target-stage.ts'
import { createExternalSchema, externalSchemaName } from './external-schemas.ts'

/**
 * Loads a stage of a database that is not Wharf's from an archive that has arrived: into a schema of its own, which is
 * committed and nobody looks into, or in place, which waits to be committed.
 *
 * @param options `note`: called with the name of the schema before it is made.
 */
export async function loadBeside(
  archive: Archive,
  target: TargetStage,
  { note, ...options }: Omit<LoadStageOptions, 'schemaName'> & { readonly note: (name: string) => Promise<void> },
): Promise<LoadedStage> {
  const follower = followArchive(archive, options)
  if (target.mode === 'in place') return loadStage(follower, target, { ...options, schemaName: undefined })
  const schemaName = externalSchemaName('new')
  await note(schemaName)
  await createExternalSchema(target.database, schemaName, target.comment)
  const loaded = await loadStage(follower, target, { ...options, schemaName })
  await loaded.commit()
  return loaded
}
