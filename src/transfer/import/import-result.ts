import type { PlannedProject } from './archive-plan.ts'
import type { TargetProject, TargetStage } from './import-targets.ts'
import type { LoadedStage } from './load-stage.ts'

export interface ImportedProject {
  readonly slug: string
  readonly targetSlug: string
  /** How many roles the target has from the archive; null where it keeps its own. */
  readonly roles: number | null
  readonly stages: readonly ImportedStage[]
}

export interface ImportedStage {
  readonly slug: string
  readonly tables: number
  readonly rows: number
  /** Whether what was there is kept, so that an undo can bring it back. */
  readonly undoable: boolean
}

interface Keeping {
  /** How long what an import replaced is kept, in hours; 0 keeps nothing. */
  readonly undoHours: number
}

/** @param loaded all stages that were loaded. */
export function toImported(
  { planned, project, stages }: TargetProject,
  loaded: readonly LoadedStage[],
  services: Keeping,
): ImportedProject {
  return {
    slug: planned.slug,
    targetSlug: project.slug,
    roles: rolesOf(planned),
    stages: stages.map((target) => {
      const { id, slug } = target.stage
      const rows = [...(loaded.find((each) => each.target.stage.id === id)?.rows.values() ?? [])]
      const sum = rows.reduce((total, count) => total + count, 0)
      return { slug, tables: rows.length, rows: sum, undoable: isUndoable(target, services) }
    }),
  }
}

/** Nothing is kept of what is replaced where it is. */
export const isUndoable = ({ mode }: TargetStage, { undoHours }: Keeping): boolean =>
  mode !== 'in place' && undoHours > 0

/** How many roles a target gets from an archive; null where it keeps its own. */
export const rolesOf = ({ system, roles }: PlannedProject): number | null => (system ? roles.length : null)
