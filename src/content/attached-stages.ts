import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { inOtherDatabase } from '../errors.ts'
import { readAttachedVersion } from '../events/attached/attached-version.ts'
import type { StageVersion } from '../events/stage-versions.ts'
import { type Ask, createBatcher } from '../lib/batcher.ts'
import type { FindProjectDatabase, ProjectDatabase } from '../projects/stage-database.ts'

/** A stage in a database that is not Wharf's, by its project. */
export interface AttachedStage {
  /** `addressOf`: which address it has, by when it was given. */
  readonly project: { readonly id: string; readonly slug: string; readonly addressOf: string | null }
  readonly stage: {
    readonly id: string
    readonly slug: string
    readonly schemaName: string
    readonly logEvents: boolean
  }
}

/** How such a stage stands, at a moment after the asking. @throws {AppError} ATTACHED_PROJECT where it has no log. */
export type ReadAttachedVersion = (of: AttachedStage) => Promise<StageVersion>

/** For how many projects it is kept who asks at the same time. */
const MAX_PROJECTS = 1_000

/**
 * Reads how stages stand in the databases that they are in. Those who ask at the same time share a look; nobody waits for
 * the database of another project.
 *
 * @param onProblem hears of each stage that can be written to unseen.
 */
export function createAttachedVersions(
  projectDatabase: FindProjectDatabase,
  onProblem: (of: AttachedStage) => void,
): ReadAttachedVersion {
  const asks = new LRUCache<string, Ask<AttachedStage, StageVersion | undefined>>({ max: MAX_PROJECTS })

  const createAsk = (project: AttachedStage['project']) => {
    let opened: Promise<ProjectDatabase> | undefined
    return createBatcher<AttachedStage, StageVersion | undefined>(async (questions) => {
      const versions = new Map<string, StageVersion | undefined>()
      try {
        // As long as it has this address.
        opened ??= projectDatabase(project, 'content')
        const { database } = await opened
        for (const [key, { stage }] of questions) versions.set(key, await readAttachedVersion(database.pool, stage.id))
      } catch (error) {
        opened = undefined
        // Where the database is not to be reached, this says so.
        await projectDatabase(project, 'content')
        throw error
      }
      return versions
    })
  }

  return async (of) => {
    const { project, stage } = of
    if (!stage.logEvents) throw notLogged(of)
    const key = `${project.id} ${project.addressOf}`
    const ask = asks.get(key) ?? createAsk(project)
    asks.set(key, ask)
    const version = await ask(stage.id, of)
    if (!version) throw logGone(of)
    if (version.coverage && version.coverage.problems.length > 0) onProblem(of)
    return version
  }
}

/** The command that gives a stage its log. */
const commandFor = ({ project, stage }: AttachedStage): string =>
  `WHARF_PROJECT=${project.slug} wharf stage:log ${stage.slug} (or PATCH /projects/${project.slug}/stages/${stage.slug} with {"logEvents": true})`

const notLogged = (of: AttachedStage): Error =>
  inOtherDatabase(
    of.project.slug,
    `stage "${of.stage.slug}" has no event log, without which nobody could say when an answer is still good`,
    `${commandFor(of)} has one kept, by triggers on its tables`,
  )

const logGone = (of: AttachedStage): Error =>
  inOtherDatabase(
    of.project.slug,
    `the event log of stage "${of.stage.slug}" is not in its database any more, or its login may not use it`,
    `${commandFor(of)} makes it again`,
  )

/** @throws {AppError} ATTACHED_PROJECT */
export function refuseWrites({ slug }: { readonly slug: string }): never {
  throw inOtherDatabase(slug, 'its rows are only read over HTTP', 'write them in its own database')
}

/** Whether the log sees all that a read shows. @param relation of which it shows rows; undefined for the stage at a glance. */
export const isSeen = ({ coverage }: StageVersion, relation: string | undefined): boolean =>
  !coverage ||
  (coverage.problems.length === 0 &&
    (relation === undefined ? coverage.unseen.size === 0 : !coverage.unseen.has(relation)))

/** What is not seen by the log has another reference each time. */
export const versionFor = (version: StageVersion, relation: string | undefined): StageVersion =>
  isSeen(version, relation) ? version : { ...version, reference: randomUUID() }
