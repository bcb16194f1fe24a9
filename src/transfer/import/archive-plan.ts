import type { ArchiveItem } from '../../archive/archive-reader.ts'
import type { LineContent } from '../../archive/lines.ts'
import type { StructureLines } from '../structure/create-statements.ts'

/** What of a stage an archive has, rows aside. */
export interface PlannedStage {
  readonly slug: string
  readonly comment: string | undefined
  readonly structure: StructureLines
  readonly tables: readonly PlannedTable[]
}

/** A table's rows, as they were counted while the archive was checked. */
export interface PlannedTable {
  readonly name: string
  readonly rows: number
}

export interface PlannedProject {
  /** Where the data came from. */
  readonly slug: string
  /** Where the file itself says that it goes. */
  readonly targetSlug: string | undefined
  readonly system: boolean
  readonly roles: readonly LineContent<'role'>[]
  readonly events: number
  readonly stages: readonly PlannedStage[]
}

interface StageDraft {
  readonly slug: string
  readonly comment: string | undefined
  readonly structure: {
    types: StructureLines['types'][number][]
    sequences: LineContent<'sequence'>[]
    tables: LineContent<'table'>[]
  }
  readonly tables: { name: string; rows: number }[]
}

interface ProjectDraft extends Omit<PlannedProject, 'roles' | 'events' | 'stages'> {
  readonly roles: LineContent<'role'>[]
  events: number
  readonly stages: StageDraft[]
}

/**
 * Collects, from an archive's lines as they are read, what an import has to know before it begins. Rows pass by.
 * It grows with the number of tables, and not with that of rows.
 */
export function createArchivePlan(): {
  add(item: ArchiveItem): void
  readonly projects: readonly PlannedProject[]
} {
  const projects: ProjectDraft[] = []

  const addToStage = (stage: StageDraft, item: ArchiveItem): void => {
    switch (item.kind) {
      case 'enum':
      case 'domain':
      case 'composite':
      case 'range':
        stage.structure.types.push({ kind: item.kind, content: item.content } as StructureLines['types'][number])
        break
      case 'sequence':
        stage.structure.sequences.push(item.content)
        break
      case 'table':
        stage.structure.tables.push(item.content)
        break
      case 'rows':
        stage.tables.push({ name: item.content.table, rows: 0 })
        break
      case 'row': {
        const table = stage.tables.at(-1)
        if (table) table.rows += item.rows.length
        break
      }
    }
  }

  return {
    projects,
    add(item) {
      if (item.kind === 'project') {
        const { slug, targetSlug, system } = item.content
        projects.push({ slug, targetSlug, system, roles: [], events: 0, stages: [] })
      }
      const project = projects.at(-1)
      if (!project) return
      if (item.kind === 'role') project.roles.push(item.content)
      if (item.kind === 'event') project.events += 1
      if (item.kind === 'stage') {
        const { slug, comment } = item.content
        project.stages.push({ slug, comment, structure: { types: [], sequences: [], tables: [] }, tables: [] })
      }
      const stage = project.stages.at(-1)
      if (stage) addToStage(stage, item)
    },
  }
}
