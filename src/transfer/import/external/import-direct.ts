import { randomUUID } from 'node:crypto'
import type { RowsPolicy } from '../../../archive/assert-rows.ts'
import type { ImportedProject } from '../../../contract/import.ts'
import { sqlMessage } from '../../../database/sqlstate.ts'
import { conflict, invalidRequest, isAppError } from '../../../errors.ts'
import type { ProjectDatabase } from '../../../projects/stage-database.ts'
import type { Stage } from '../../../projects/stages.ts'
import type { LineLimits } from '../../export/line-limits.ts'
import type { ArchiveProject } from '../archive-lists.ts'
import type { ArchiveSource, ImportOptions } from '../import-options.ts'
import { toImported } from '../import-result.ts'
import type { LoadedStage } from '../load-stage.ts'
import type { SessionOptions } from '../loading-session.ts'
import { type CheckOptions, openArchive, receiveArchive } from '../receive-archive.ts'
import { assertExtensions } from '../target-extensions.ts'
import { examineStage, type TargetStage } from '../target-stage.ts'
import { assertFits, type TargetProject } from '../targets.ts'
import { tryExternal } from '../try-building.ts'
import { commitHere } from './commit-external.ts'
import { directSchemaName, type NameLocks, openNameLocks } from './direct-schemas.ts'
import { exchangeStages } from './exchange.ts'
import { dropExternalSchema } from './external-schemas.ts'
import { loadExternal } from './load-external.ts'

/** Stages in a database that Wharf knows nothing of. */
export interface DirectTarget extends ProjectDatabase {
  /** What the database is called. */
  readonly slug: string
  readonly stages: readonly Stage[]
}

export interface DirectOptions extends SessionOptions, RowsPolicy {
  readonly limits: LineLimits
  /** Folder for spooled files, and how many bytes stay free on its disk. */
  readonly spoolFolder: string
  readonly spoolReserveBytes: number
  readonly allowEdited?: boolean
  readonly onRows?: NonNullable<ImportOptions['onRows']>
  /** Called with a schema of the import's own that stays in the database, and why. The next import there tries to drop it. */
  readonly onLeft?: (schema: string, problem: string) => void
  /**
   * Called when the archive has arrived, with what would become of the stages; nothing has changed yet.
   *
   * @returns whether to go on.
   */
  readonly confirm: (target: TargetProject) => Promise<boolean>
}

/**
 * Imports an archive of one project over stages of a database that Wharf knows nothing of, and leaves nothing of its own
 * there: what is replaced is dropped.
 *
 * @returns undefined where `confirm` said no.
 * @throws {AppError} as `importArchive`.
 */
export async function importDirect(
  target: DirectTarget,
  source: ArchiveSource,
  { limits, spoolFolder, spoolReserveBytes, confirm, ...options }: DirectOptions,
): Promise<ImportedProject | undefined> {
  const archive = await openArchive(spoolFolder, spoolReserveBytes)
  const made: string[] = []
  const loaded: LoadedStage[] = []
  let names: NameLocks | undefined
  try {
    const { signal, allowEdited = false, allowIncomplete } = options
    const checks: CheckOptions = { ...limits, signal, allowEdited, allowIncomplete }
    await source((bytes) => receiveArchive(archive, bytes, checks))
    const compared = await compareDirect(target, archive.lists.projects)
    if (!(await confirm(compared))) return undefined
    names = await openNameLocks(target.database, signal)
    const note = async (_: TargetStage, name: string): Promise<void> => {
      await names?.lock(name)
      made.push(name)
    }
    const loading = { ...options, tokenId: null, note, nameSchema: directSchemaName }
    loaded.push(...(await loadExternal(archive, compared.stages, loading)))
    signal.throwIfAborted()
    await commitDirect(target, loaded, options)
    return toImported(compared, loaded, undefined, { undoHours: 0 })
  } finally {
    for (const { rollback } of loaded) rollback()
    for (const name of made) {
      const problem = await dropLeft(target, name)
      if (problem !== undefined) options.onLeft?.(name, problem)
    }
    names?.release()
    await archive.file.remove()
  }
}

/** @returns why it could not be dropped; undefined where it is not there. */
async function dropLeft({ database }: DirectTarget, name: string): Promise<string | undefined> {
  try {
    return (await dropExternalSchema(database, name, { isKept: false })) ? undefined : 'somebody uses it'
  } catch (error) {
    const problem = isAppError(error) ? error.message : (sqlMessage(error) ?? 'the connection was lost')
    const asked = database.pool.query('SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1', [name])
    return asked.then(
      ({ rowCount }) => (rowCount === 0 ? undefined : problem),
      () => problem,
    )
  }
}

/**
 * Compares what an archive has with stages of a database that Wharf knows nothing of, and changes nothing.
 *
 * @param countRows whether to count the rows that there are now.
 * @throws {AppError} CONFLICT with every difference; INVALID_REQUEST where the archive has several projects.
 */
export async function compareDirect(
  target: DirectTarget,
  projects: readonly ArchiveProject[],
  { countRows = true }: { readonly countRows?: boolean } = {},
): Promise<TargetProject> {
  const [archived, ...others] = projects
  if (!archived || others.length > 0) throw invalidRequest('an archive of one project is needed for this target')
  const { slug, stages, ...external } = target
  const project = { id: '', slug }
  const examined: TargetStage[] = []
  for (const coming of archived.stages) {
    const stage = stages.find((candidate) => candidate.slug === coming.slug)
    if (!stage) {
      const known = stages.map((each) => each.slug).join(', ')
      throw conflict(`the archive has the stage "${coming.slug}", and the address names ${known}`)
    }
    const findRoles = (): Promise<never> => Promise.reject(new Error('the database is not one of Wharf'))
    examined.push(await examineStage({ ...external, project, stage }, coming, { findRoles, countRows }))
  }
  const compared = { archived: { ...archived, system: false }, project, stages: examined }
  await assertFits([compared])
  await assertExtensions({ system: target.database, config: {} }, examined)
  return compared
}

/** Does all that an import would do, without rows, and takes it back. @throws {AppError} as the import would. */
export const tryDirect = ({ stages }: TargetProject, signal: AbortSignal): Promise<void> => tryExternal(stages, signal)

/** A server of Wharf's may keep a log there. */
const LOGGED = { tokenId: null, isNewLog: false } as const

async function commitDirect(
  target: DirectTarget,
  loaded: readonly LoadedStage[],
  { signal, sessionName = `wharf import ${randomUUID()}` }: SessionOptions,
): Promise<void> {
  const exchanges = loaded.flatMap(({ target: stage, schemaName }) =>
    schemaName === undefined ? [] : [{ target: stage, loaded: schemaName, kept: null }],
  )
  const inPlace = loaded.filter(({ schemaName }) => schemaName === undefined)
  if (exchanges.length > 0) {
    const beforeCommit = async (): Promise<void> => signal.throwIfAborted()
    await exchangeStages(target, exchanges, { signal, sessionName, record: undefined, logged: LOGGED, beforeCommit })
  }
  await commitHere(inPlace, { record: undefined, logged: LOGGED, sessionName })
}
