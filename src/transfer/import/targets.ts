import { loadGrammar } from '../../archive/sql/grammar.ts'
import { conflict, type Fault, invalidRequest } from '../../errors.ts'
import { findProject, type Project } from '../../projects/projects.ts'
import { type FindRoles, readRoles } from '../../projects/role-names.ts'
import { compareStructures } from '../structure/compare-structures.ts'
import { inWordsOf } from '../structure/in-words-of.ts'
import type { ArchiveProject } from './archive-lists.ts'
import type { ImportServices } from './import-options.ts'
import { assertMayBuild } from './structure-permission.ts'
import { assertExtensions } from './target-extensions.ts'
import { examineStage, type TargetStage } from './target-stage.ts'

/** At most this many differences are listed; there may be as many as an archive has lines. */
const MAX_DIFFERENCES = 1_000

export interface TargetProject {
  /** What comes. */
  readonly archived: ArchiveProject
  readonly project: Pick<Project, 'id' | 'slug'>
  readonly stages: readonly TargetStage[]
}

type TargetServices = Pick<ImportServices, 'control' | 'system' | 'projectDatabase' | 'config'>

/**
 * Where each project of an archive goes: to what the request says, else to what the file says, else to its own name.
 *
 * @param requested at most for an archive of one project.
 * @returns slugs, in the order of the archive's projects.
 * @throws {AppError} INVALID_REQUEST where a target is named for several projects, or is that of two.
 */
export function targetSlugs(projects: readonly ArchiveProject[], requested: string | undefined): readonly string[] {
  if (requested !== undefined && projects.length !== 1) {
    throw invalidRequest(`a target can be named for an archive of one project; this one has ${projects.length}`)
  }
  const slugs = new Set<string>()
  for (const { targetSlug, slug } of projects) {
    const target = requested ?? targetSlug ?? slug
    if (slugs.has(target)) throw invalidRequest(`two projects of the archive go to "${target}"`)
    slugs.add(target)
  }
  return [...slugs]
}

/**
 * Looks at every target and compares it with what an archive has, and changes nothing.
 *
 * @param slugs of the projects that those of the archive go to, in their order.
 * @param options `countRows`: whether to count the rows that there are now, which reads every table; `tokenId`: the token
 *   that asks; null for the root token.
 * @throws {AppError} NOT_FOUND; CONFLICT with every difference of every target, where they can't be loaded together, or
 *   with every extension that can't be had;
 *   FORBIDDEN where a stage would be built, and the token lacks `content.structure`.
 */
export async function compareTargets(
  services: TargetServices,
  projects: readonly ArchiveProject[],
  slugs: readonly string[],
  { countRows, tokenId }: { readonly countRows: boolean; readonly tokenId: string | null },
): Promise<readonly TargetProject[]> {
  const differences: Fault[] = []
  const targets: TargetProject[] = []
  for (const [index, archived] of projects.entries()) {
    targets.push(await compareTarget(services, archived, slugs[index] ?? archived.slug, { countRows, differences }))
  }
  assertNoDifferences(differences)
  assertLoadable(targets)
  const stages = targets.flatMap((target) => target.stages)
  await assertMayBuild(services.control.prisma, tokenId, stages)
  await assertExtensions(services, stages)
  return targets
}

/** @param differences gets every difference in words; nothing can be loaded if there is one. */
async function compareTarget(
  { control, projectDatabase }: Pick<TargetServices, 'control' | 'projectDatabase'>,
  archived: ArchiveProject,
  slug: string,
  { countRows, differences }: { readonly countRows: boolean; readonly differences: Fault[] },
): Promise<TargetProject> {
  const project = await findProject(control.prisma, slug)
  const found = await projectDatabase(project, 'imports')
  const findRoles: FindRoles = (names) => readRoles(control.prisma, names)
  const stages: TargetStage[] = []
  for (const coming of archived.stages) {
    const stage = project.stages.find((candidate) => candidate.slug === coming.slug)
    if (!stage) {
      differences.push({
        detail: `project "${slug}" has no stage "${coming.slug}"; create it first (stage:create, or POST /projects/${slug}/stages)`,
      })
      continue
    }
    const target = await examineStage({ ...found, project, stage }, coming, { findRoles, countRows })
    differences.push(...(await differencesIn(target)))
    stages.push(target)
  }
  return { archived, project, stages }
}

async function differencesIn(target: TargetStage): Promise<readonly Fault[]> {
  const { project, stage } = target
  return (await differencesOf(target)).map((difference) => ({ detail: `${project.slug}/${stage.slug}: ${difference}` }))
}

/** @throws {AppError} CONFLICT with every difference between what is to come and what is there, or where it can't be loaded together. */
export async function assertFits(targets: readonly TargetProject[]): Promise<void> {
  const differences = await Promise.all(targets.flatMap(({ stages }) => stages).map(differencesIn))
  assertNoDifferences(differences.flat())
  assertLoadable(targets)
}

/** How what is to come differs from what is there, in words. */
export async function differencesOf({
  mode,
  archived,
  structure,
  reasonsAgainst,
}: TargetStage): Promise<readonly string[]> {
  if (mode === 'build') return reasonsAgainst
  const there = await inWordsOf(await loadGrammar(), archived.structure, structure)
  return [...compareStructures(archived.structure, there), ...reasonsAgainst]
}

/** @throws {AppError} CONFLICT, where there are any. */
function assertNoDifferences(differences: readonly Fault[]): void {
  const [first, ...others] = differences
  if (!first) return
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  throw conflict(`the archive does not fit its target: ${first.detail}${more}`, differences.slice(0, MAX_DIFFERENCES))
}

/** A stage that is loaded in place is committed by itself, so nothing else can be all-or-nothing with it. */
function assertLoadable(targets: readonly TargetProject[]): void {
  const stages = targets.flatMap((target) => target.stages)
  const external = targets.find((target) => target.stages.some(({ isOwn }) => !isOwn))
  if (external && targets.length > 1) {
    throw conflict(
      `project "${external.project.slug}" is in a database of its own, whose transactions are not those of other projects: ` +
        'import into it alone, by an archive of one project',
    )
  }
  const inPlace = stages.find(({ mode }) => mode === 'in place')
  if (!inPlace || (stages.length === 1 && !targets.some(({ archived }) => archived.system))) return
  throw conflict(
    `stage "${inPlace.stage.slug}" of project "${inPlace.project.slug}" can only be loaded in place ` +
      `(${inPlace.reasonsInPlace[0]}), so it can only be imported into alone: use an archive of this one stage, without the ` +
      'system section',
    inPlace.reasonsInPlace.map((detail) => ({ detail })),
  )
}
