import type { Queryable } from '../../database/database.ts'
import { forbidden, unauthenticated } from '../../errors.ts'
import { type Caller, findCaller } from '../../projects/access.ts'
import { findProject } from '../../projects/projects.ts'
import type { ArchiveProject } from './archive-lists.ts'
import { isEmptyStage } from './current-stage.ts'
import type { ImportServices } from './import-options.ts'
import type { TargetStage } from './target-stage.ts'

/** Whether the caller may have SQL of an archive run in a project, today. */
function mayBuild(caller: Caller, project: string): boolean {
  return caller.kind === 'root' || caller.roles.get(project)?.content.structure === true
}

/** Looks up a token's rights as they are now. @throws {AppError} UNAUTHENTICATED where the token is no longer valid. */
async function callerOf(control: Queryable, tokenId: string | null): Promise<Caller> {
  const caller = await findCaller(control, tokenId)
  if (!caller) throw unauthenticated('the token has been revoked or has expired')
  return caller
}

/**
 * Makes sure that a token may have done, today, what building stages from an archive takes.
 *
 * @param tokenId null for the root token.
 * @throws {AppError} FORBIDDEN where one of them would be built, or gets the archive's rights, and the token lacks `content.structure`;
 *   UNAUTHENTICATED where it has been revoked or has expired.
 */
export async function assertMayBuild(
  control: Queryable,
  tokenId: string | null,
  stages: readonly TargetStage[],
): Promise<void> {
  const asking = stages.filter(({ mode, archived }) => mode === 'build' || archived.grants !== undefined)
  if (asking.length === 0) return
  const caller = await callerOf(control, tokenId)
  for (const { project, stage, mode } of asking) {
    if (!mayBuild(caller, project.slug)) throw lacking(caller, project.slug, stage.slug, mode !== 'build')
  }
}

type AdmissionServices = Pick<ImportServices, 'control' | 'projectDatabase'>

/**
 * The same for the stage that an archive has just begun with, before anything of its structure has been read.
 *
 * @param projects what is known of the archive. @param targets slugs of the projects that they go to.
 */
export async function admitLastStage(
  services: AdmissionServices,
  tokenId: string | null,
  projects: readonly ArchiveProject[],
  targets: readonly string[],
): Promise<void> {
  const stage = projects.at(-1)?.stages.at(-1)
  const project = targets[projects.length - 1]
  if (!stage || project === undefined) return
  const hasGrants = stage.grants !== undefined
  await admitStage(services, tokenId, { project, stage: stage.slug, hasGrants })
}

/**
 * The same for one stage, of which it need not be known whether it will come.
 *
 * @param target slugs. A project or a stage that does not exist is reported by the import.
 */
export async function admitStage(
  { control, projectDatabase }: AdmissionServices,
  tokenId: string | null,
  target: { readonly project: string; readonly stage: string; readonly hasGrants?: boolean },
): Promise<void> {
  if (tokenId === null) return
  const caller = await callerOf(control.prisma, tokenId)
  if (mayBuild(caller, target.project)) return
  if (target.hasGrants) throw lacking(caller, target.project, target.stage, true)
  const project = await findProject(control.prisma, target.project)
  const stage = project.stages.find(({ slug }) => slug === target.stage)
  if (!stage) return
  if (!(await isEmptyStage({ ...(await projectDatabase(project, 'imports')), stage }))) return
  throw lacking(caller, target.project, target.stage)
}

/** @param hasGrants whether it is for the rights that the archive has. */
const lacking = (caller: Caller, project: string, stage: string, hasGrants = false): Error => {
  const role = caller.kind === 'root' ? undefined : caller.roles.get(project)
  return forbidden(
    `stage "${stage}" of project "${project}" ${
      hasGrants
        ? 'would get the rights that the archive has'
        : 'is empty, so its structure would be built from the archive'
    }: ` + `role "${role?.name ?? ''}" lacks the permission content.structure`,
  )
}
