import { findProject, type Project } from '../projects.ts'
import type { FindProjectDatabase } from '../stage-database.ts'
import type { Stage } from '../stages.ts'
import {
  type AttachServices,
  attachProject,
  attachStage,
  type GivenAddress,
  type NewAttachedStage,
} from './attach-project.ts'
import type { AttachedDatabases } from './attached-databases.ts'
import { detachProject, detachStage } from './detach-project.ts'
import { switchLog } from './log-stage.ts'

interface LoggingServices extends AttachServices {
  readonly attached: AttachedDatabases
  readonly projectDatabase: FindProjectDatabase
}

/** A stage that is to be attached, and whether an event log of it is to be kept. */
export interface MaybeLoggedStage extends NewAttachedStage {
  readonly logEvents?: boolean
}

/** Attaches a project, whole with the logs that are asked for or not at all. @throws {AppError} as `attachProject`, `switchLog`. */
export async function attachLoggedProject(
  services: LoggingServices,
  given: GivenAddress & { readonly slug: string; readonly stages: readonly MaybeLoggedStage[] },
): Promise<Project> {
  const project = await attachProject(services, given)
  const { control, attached } = services
  try {
    for (const { slug, logEvents = false } of given.stages) {
      if (logEvents) await switchLog(services, project, { slug, logEvents })
    }
    return await findProject(control.prisma, project.slug)
  } catch (error) {
    await detachProject(services, project, { force: false })
    attached.forget(project.id)
    throw error
  }
}

/** The same of one more stage. @throws {AppError} as `attachStage`, `switchLog`. */
export async function attachLoggedStage(
  services: LoggingServices,
  project: Project,
  { logEvents = false, ...given }: MaybeLoggedStage,
): Promise<Stage> {
  const stage = await attachStage(services, project, given)
  if (!logEvents) return stage
  const changed = { ...project, stages: [...project.stages, stage] }
  try {
    return await switchLog(services, changed, { slug: stage.slug, logEvents })
  } catch (error) {
    await detachStage(services, changed, { slug: stage.slug, force: false })
    throw error
  }
}
