import { isDeepStrictEqual } from 'node:util'
import type { Database } from '../../database/database.ts'
import { isAppError } from '../../errors.ts'
import { findProject } from '../../projects/projects.ts'
import { type FindRoles, readRoles } from '../../projects/role-names.ts'
import { helpersOf } from '../export/spare-sessions.ts'
import type { StageOfProject } from './current-stage.ts'
import { followArchive } from './follow-archive.ts'
import { HelpedLoadFailed } from './help-loading.ts'
import type { ImportOptions, ImportServices } from './import-options.ts'
import { type LoadedStage, loadStage } from './load-stage.ts'
import type { Archive } from './receive-archive.ts'
import { type OpenedLoading, openLoading } from './resume/open-loading.ts'
import { claimShadowSchema, commitLoaded, dropUnused } from './shadow-schemas.ts'
import { assertMayBuild } from './structure-permission.ts'
import { hasExtensions } from './target-extensions.ts'
import { examineStage, outcomeOf, type TargetStage } from './target-stage.ts'
import { differencesOf } from './targets.ts'

/** Rows of so many bytes have to have come: an archive that has no more is taken to come in a single piece. */
const MIN_BYTES = 512 * 1024

/** How many stages are loaded while their archive arrives: each keeps a connection until the archive has come. */
const MAX_STAGES = 2

/** What share of a project's connections may be in use when another is opened for that. */
const MAX_SHARE_IN_USE = 0.5

/**
 * For how long may be waited, in all, for more of the archive, in milliseconds. An open transaction keeps PostgreSQL from
 * tidying up after everybody, so it may not last as long as a slow upload.
 */
const MAX_WAIT_MS = 5 * 60_000

/** Stages that are loaded while their archive arrives. */
export interface EarlyLoads {
  /**
   * Waits until nothing is being loaded any more, and commits what was loaded of a stage. The caller has the stage's
   * lock, and drops the schema if it is not used in the end.
   *
   * @param target the stage as it is now.
   * @returns undefined where nothing was loaded, or something else than would be loaded now.
   */
  commit(target: TargetStage, signal: AbortSignal): Promise<LoadedStage | undefined>
  /** Whether several sessions may load what was not loaded: not where that has failed already. */
  readonly mayBeHelped: boolean
  /** Ends all loading, and removes what was loaded and not committed. */
  end(): Promise<void>
}

/** Where nothing is loaded before the archive has arrived. */
export const NO_EARLY_LOADS: EarlyLoads = {
  commit: async () => undefined,
  mayBeHelped: true,
  end: async () => undefined,
}

/**
 * Begins to load an archive while it arrives, so that most of an import has been done by the time the archive is known to
 * be whole. Nobody sees any of it before that; and nothing depends on it: what fails here, whatever the reason, is loaded
 * again afterwards, and says then what is wrong.
 *
 * No lock is taken on a stage, since an archive may take hours to come. Whether the stage is still as it was when its
 * loading began is compared in the end. What is committed before, nobody sees either: an open transaction shows others
 * that the schema is in use.
 */
export function loadEarly(
  services: ImportServices,
  archive: Archive,
  { targetsOf, maxWaitMs = MAX_WAIT_MS, ...options }: ImportOptions,
): EarlyLoads {
  const { lists, file } = archive
  const stopping = new AbortController()
  const loaded: LoadedStage[] = []
  /** Schemas that no lock of a stage protects. */
  const unlocked = new Map<string, OpenedLoading>()
  let mayBeHelped = true

  const mayLoadNow = ({ pool }: Database): boolean =>
    unlocked.size < MAX_STAGES && pool.totalCount - pool.idleCount < MAX_SHARE_IN_USE * pool.options.max

  const loadAll = async (): Promise<void> => {
    const { signal } = stopping
    const follower = followArchive(archive, { signal, maxWaitMs })
    if (!(await follower.until(() => file.size >= MIN_BYTES))) return
    for await (const { project, stage } of follower.stages()) {
      const found = await findStage(services, targetsOf(lists.projects)[project] ?? '', stage.slug)
      if (!found || !(await follower.until(() => mayLoadNow(found.database)))) continue
      // An import into another database has a commit of its own, which is found out about by what it writes there.
      if (!found.isOwn) continue
      const findRoles: FindRoles = (names) => readRoles(services.control.prisma, names)
      const target = await examineStage(found, stage, { findRoles, countRows: false })
      if (target.mode === 'in place' || (await differencesOf(target)).length > 0) continue
      await assertMayBuild(services.control.prisma, options.tokenId, [target])
      // They are made once all of the archive has come.
      if (!(await hasExtensions(services.system, target))) continue
      const opened = await openLoading(services.system, target, 'arriving', options.attempt)
      unlocked.set(opened.schemaName, opened)
      const helpers = helpersOf(services, target.project)
      loaded.push(await loadStage(follower, target, { ...options, ...opened, helpers, signal }))
    }
  }
  const loading = loadAll().catch(async (error: unknown) => {
    for (const { rollback } of loaded.splice(0)) rollback()
    const wasHelped = error instanceof HelpedLoadFailed
    // An archive that arrives too slowly to be loaded meanwhile says nothing against several sessions.
    mayBeHelped = !wasHelped || isAbort(error.cause)
    // What was committed takes room until then.
    if (wasHelped) await dropAllUnused(services, unlocked)
    if (!isExpected(error) && !stopping.signal.aborted)
      services.logger.warn({ err: error }, 'an archive could not be loaded while it arrived')
  })

  return {
    get mayBeHelped() {
      return mayBeHelped
    },
    async commit(target, signal) {
      signal.throwIfAborted()
      const stop = (): void => stopping.abort(signal.reason)
      signal.addEventListener('abort', stop, { once: true })
      await loading
      signal.removeEventListener('abort', stop)
      signal.throwIfAborted()
      const early = loaded.find((candidate) => candidate.target.stage.id === target.stage.id)
      if (!early?.schemaName) return undefined
      if (!isDeepStrictEqual(outcomeOf(early.target), outcomeOf(target))) {
        early.rollback()
        return undefined
      }
      // Its session was ended, say, and then somebody swept its schema away.
      const { schemaName, commit } = early
      if (!(await claimShadowSchema(services.system, schemaName))) return undefined
      if (!(await tryToCommit(services, { schemaName, commit }, target))) return undefined
      unlocked.delete(schemaName)
      // As it is now: what was loaded is the same, but another import may have replaced the stage meanwhile.
      return { ...early, target }
    },
    async end() {
      stopping.abort(new Error('what was loaded while the archive arrived is not needed'))
      await loading
      for (const { rollback } of loaded) rollback()
      await dropAllUnused(services, unlocked)
    },
  }
}

/** @returns whether it was committed; where not, it is loaded again. */
async function tryToCommit(
  { system, logger }: ImportServices,
  { schemaName, commit }: Pick<LoadedStage, 'commit'> & { readonly schemaName: string },
  { comment, login }: TargetStage,
): Promise<boolean> {
  try {
    await commitLoaded(system, { schemaName, login, comment, commit })
    return true
  } catch (error) {
    logger.warn({ err: error }, 'what was loaded while an archive arrived could not be committed')
    return false
  }
}

/** The sweep drops what cannot be dropped now; what is committed of a job is its own, until it has ended. */
async function dropAllUnused(services: ImportServices, unlocked: Map<string, OpenedLoading>): Promise<void> {
  const unused = [...unlocked.values()].filter(({ saves }) => !saves.isKept)
  for (const { schemaName } of unused) unlocked.delete(schemaName)
  await Promise.all(unused.map(({ schemaName }) => dropUnused(services, schemaName)))
}

/** Whether the archive is to blame, which is told when it is loaded again, or loading was ended; not where a session was lost. */
const isExpected = (error: unknown): boolean =>
  error instanceof HelpedLoadFailed
    ? isExpected(error.cause)
    : (isAppError(error) && !isAppError(error, 'DATABASE_UNAVAILABLE')) || isAbort(error)

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'

/** @returns undefined for a stage that does not exist, which the import complains about when the archive has come. */
async function findStage(
  { control, projectDatabase }: ImportServices,
  projectSlug: string,
  slug: string,
): Promise<StageOfProject | undefined> {
  const project = await findProject(control.prisma, projectSlug)
  const stage = project.stages.find((candidate) => candidate.slug === slug)
  if (!stage) return undefined
  return { ...(await projectDatabase(project, 'imports')), project, stage }
}
