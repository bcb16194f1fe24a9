import { allComplete, missingOf } from '../../contract/completeness.ts'
import type { ImportedProject } from '../../contract/import.ts'
import type { ArchiveProject } from './archive-lists.ts'
import { areBuiltHere } from './external/built-here.ts'
import type { ImportServices } from './import-options.ts'
import type { RolePlan } from './import-roles.ts'
import type { TargetStage } from './target-stage.ts'
import type { TargetProject } from './targets.ts'

type Keeping = Pick<ImportServices, 'undoHours'>

/**
 * @param loaded all stages that were loaded.
 * @param roles what was done to the roles of the target; undefined where it keeps its own.
 */
export function toImported(
  { archived, project, stages }: TargetProject,
  loaded: readonly { readonly target: TargetStage; readonly rows: ReadonlyMap<string, number> }[],
  roles: RolePlan | undefined,
  services: Keeping,
): ImportedProject {
  return {
    slug: archived.slug,
    targetSlug: project.slug,
    ...toRolesResult(roles),
    stages: stages.map((target) => {
      const { id, slug } = target.stage
      const rows = [...(loaded.find((each) => each.target.stage.id === id)?.rows.values() ?? [])]
      const sum = rows.reduce((total, count) => total + count, 0)
      const leftOut = [...target.leftOut]
      const undoable = isUndoable(target, { ...services, stages })
      return { slug, tables: rows.length, rows: sum, undoable, leftOut, notReplaced: notReplacedOf(target) }
    }),
  }
}

/** Nothing is kept of what is replaced, or built, where it is. @param options `stages`: all that are imported with it. */
export const isUndoable = (
  { mode }: TargetStage,
  { undoHours, stages }: Keeping & { readonly stages: readonly TargetStage[] },
): boolean => mode !== 'in place' && undoHours > 0 && !areBuiltHere(stages)

/** The things of a stage that keep their rows, since no archive can hold these. */
export const notReplacedOf = ({ notReplaced }: Pick<TargetStage, 'notReplaced'>) =>
  notReplaced.map(({ kind, name, detail }) => ({ kind, name, ...(detail !== undefined && { detail }) }))

/** What the result says of the roles that a target gets from an archive. */
export const toRolesResult = (plan: RolePlan | undefined) => ({
  roles: plan?.set.length ?? null,
  rolesLeftOut: plan?.leftOut ?? [],
})

/** What the result says of what an archive lacks. */
export function toCompleteness(projects: readonly ArchiveProject[]) {
  const stages = projects.flatMap((project) => project.stages)
  return {
    complete: allComplete(stages.map(({ complete }) => complete)),
    notExported: missingOf(projects),
  }
}
