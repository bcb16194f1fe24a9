import { isDeepStrictEqual } from 'node:util'
import type { Database } from '../../database/database.ts'
import { findProject, type Project } from '../../projects/projects.ts'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import { createStatements } from '../structure/create-statements.ts'
import type { PlannedProject, PlannedStage } from './archive-plan.ts'
import type { ArrivingArchive } from './arriving-archive.ts'
import { differencesOf, examineStage, type TargetStage } from './import-targets.ts'
import { type LoadedPart, type LoadedRows, type LoadedStage, loadStage, type TargetLogin } from './load-stage.ts'
import { claimLoadedAhead, createLoadingSchema, dropSideSchema } from './side-schemas.ts'
import { openStageLoader, type StageLoader } from './stage-loader.ts'
import { assertMayBuild } from './structure-permission.ts'

/** How many stages of an archive are loaded ahead: each keeps a connection until the archive has come. */
const MAX_STAGES = 2

/** What share of a project's connections may be in use when another is taken for loading ahead. */
const MAX_SHARE_IN_USE = 0.5

export interface LoadAheadOptions {
  readonly services: {
    readonly control: Database
    readonly system: Database
    readonly projectDatabase: FindProjectDatabase
  }
  /** The token that asked for it; null for the root token. */
  readonly tokenId: string | null
  /** Slugs of the projects that those of the archive go to, in their order. */
  readonly targetsOf: (projects: readonly PlannedProject[]) => readonly string[]
  /** What PostgreSQL calls the sessions. */
  readonly sessionName?: string | undefined
  /** Told of rows as they are loaded. */
  readonly onRows?: ((loaded: LoadedPart) => void) | undefined
}

/** Stages that are loaded beside their own while their archive is still arriving. */
export interface LoadAhead {
  /**
   * Gives what has been loaded ahead of a stage, committed; waits where it is still being loaded. The caller has the
   * stage's lock, and drops the schema if it is not used in the end.
   *
   * @param target the stage as it is now.
   * @returns undefined where nothing was loaded ahead, or something else than would be loaded now.
   */
  take(project: TargetLogin, target: TargetStage, signal: AbortSignal): Promise<LoadedStage | undefined>
  /** Ends the loading, and drops what has been loaded and was not taken. */
  abandon(): Promise<void>
}

interface StageAhead extends LoadedRows {
  readonly project: TargetLogin
  readonly target: TargetStage
  readonly schemaName: string
  readonly loader: StageLoader
}

/**
 * Loads what is arriving as it arrives, so that most of an import has been done by the time the archive is known to be
 * whole. Nobody sees any of it before that; and nothing depends on it: what fails here, whatever the reason, is loaded
 * again afterwards, and says then what is wrong.
 *
 * No lock is taken on a stage, since an archive may take hours to come. Whether the stage is still as it was when its
 * loading began is compared when it is taken. Nothing is committed before: an open transaction tells others that
 * somebody is at work on the schema.
 *
 * @param projects what is known of the archive; grows.
 */
export function startLoadAhead(
  archive: ArrivingArchive,
  projects: readonly PlannedProject[],
  { services, tokenId, targetsOf, sessionName, onRows = () => undefined }: LoadAheadOptions,
): LoadAhead {
  const loaded: StageAhead[] = []
  const told = new Map<string, LoadedPart>()
  const untaken = new Set<string>()

  const load = async (slug: string, planned: PlannedStage): Promise<void> => {
    const found = await findTarget(services, slug, planned)
    if (!found) return
    const { project, database, target } = found
    await assertMayBuild(services.control.prisma, tokenId, [{ project, stages: [target] }])
    const { id: stageId, schemaName: ownSchema } = target.stage
    const tell = (part: LoadedPart): void => {
      told.set(stageId, { ...part, rows: part.rows + (told.get(stageId)?.rows ?? 0) })
      onRows(part)
    }
    const stage = { stageId, schemaName: ownSchema, login: project.login }
    const schemaName = await createLoadingSchema(services.system, stage, 'ahead')
    untaken.add(schemaName)
    const loader = await openStageLoader(database.pool, schemaName, { signal: archive.stopped, sessionName })
    try {
      const { partsOf, bytesOf } = archive
      const source = { tables: archive.tablesOf(planned), partsOf, bytesOf, onRows: tell }
      const rows = await loadStage(loader, target, createStatements(target.structure), { schemaName, source })
      loaded.push({ ...rows, project, target, schemaName, loader })
    } catch (error) {
      loader.abandon()
      throw error
    }
  }

  const loadAll = async (): Promise<void> => {
    if (!(await archive.comesInPieces())) return
    for await (const { project, planned } of archive.stages()) {
      if (loaded.length < MAX_STAGES) await load(targetsOf(projects)[project] ?? '', planned)
    }
  }
  const loading = loadAll().catch(() => {
    for (const { loader } of loaded.splice(0)) loader.abandon()
  })

  /** What has been told of rows counts no more. */
  const takeBack = (stageId: string): void => {
    const part = told.get(stageId)
    if (part) onRows({ ...part, rows: -part.rows })
    told.delete(stageId)
  }

  return {
    async take(project, target, signal) {
      const stop = (): void => archive.stop(signal.reason)
      if (signal.aborted) stop()
      signal.addEventListener('abort', stop, { once: true })
      await loading
      signal.removeEventListener('abort', stop)
      signal.throwIfAborted()
      const ahead = loaded.find((candidate) => candidate.target.stage.id === target.stage.id)
      if (!ahead || !isSame(ahead, project, target) || !(await commit(services.system, ahead))) {
        takeBack(target.stage.id)
        return undefined
      }
      const { rows, transaction, schemaName, loader } = ahead
      untaken.delete(schemaName)
      const { abandon } = loader
      return { rows, transaction, project, target, loadingSchema: schemaName, commit: undefined, abandon }
    },
    async abandon() {
      archive.stop(new Error('what was loaded ahead is not needed'))
      await loading
      for (const { loader } of loaded) loader.abandon()
      // What cannot be dropped now is left to the sweep.
      const left = [...untaken].map((schemaName) => ({ schemaName, kind: 'ahead' as const }))
      await Promise.allSettled(left.map((side) => dropSideSchema(services.system, side)))
    },
  }
}

/** @returns undefined for a stage that cannot be loaded ahead, or that had better not. */
async function findTarget(
  { control, projectDatabase }: LoadAheadOptions['services'],
  slug: string,
  planned: PlannedStage,
): Promise<{ readonly project: Project; readonly database: Database; readonly target: TargetStage } | undefined> {
  const project = await findProject(control.prisma, slug)
  const stage = project.stages.find((candidate) => candidate.slug === planned.slug)
  const database = await projectDatabase(project, 'imports')
  if (!stage || !hasConnections(database)) return undefined
  const target = await examineStage(database, planned, stage, { countRows: false })
  const isLoadable = target.mode !== 'in place' && differencesOf(target).length === 0
  return isLoadable ? { project, database, target } : undefined
}

const hasConnections = ({ pool }: Database): boolean =>
  pool.totalCount - pool.idleCount < MAX_SHARE_IN_USE * pool.options.max

function isSame(ahead: StageAhead, { login }: TargetLogin, { stage, mode, structure, comment }: TargetStage): boolean {
  const { project, target } = ahead
  return isDeepStrictEqual(
    [project.login, target.stage.schemaName, target.mode, target.structure, target.comment],
    [login, stage.schemaName, mode, structure, comment],
  )
}

/** @returns false where it is gone: its session was ended, say, and then somebody swept its schema away. */
async function commit(system: Database, { schemaName, loader }: StageAhead): Promise<boolean> {
  if (!(await claimLoadedAhead(system, schemaName))) return false
  return loader.commit().then(
    () => true,
    () => false,
  )
}
