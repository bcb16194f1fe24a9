import type { ArchiveItem, CopyFormat, RowBatch } from '../../archive/archive-reader.ts'
import type { LineContent } from '../../archive/lines.ts'
import type { StructureLines } from '../structure/create-statements.ts'
import type { ByteRange } from './spool-file.ts'

/** What of a stage an archive has, rows aside. */
export interface PlannedStage {
  readonly slug: string
  readonly comment: string | undefined
  /** What of it the archive could not hold. */
  readonly notExported: LineContent<'stage'>['notExported']
  readonly structure: StructureLines
  readonly tables: readonly PlannedTable[]
  /** Whether nothing of it is still to come. */
  readonly isWhole: boolean
}

/** A table's rows, as they were counted while the archive was checked. */
export interface PlannedTable {
  readonly name: string
  /** Those that have values, in the order of the values. */
  readonly columns: readonly string[]
  readonly rows: number
  /** The rows in their order: at most a part in the binary format, and then one in text. */
  readonly parts: readonly PlannedPart[]
  /** Whether nothing of it is still to come. */
  readonly isWhole: boolean
}

/** Rows of a table that one COPY loads. */
export interface PlannedPart {
  readonly format: CopyFormat
  readonly rows: number
  /** Line of the archive at which the rows begin: they stand one after the other. */
  readonly firstLine: number
  /** Where in the spool file they are. */
  readonly range: ByteRange
}

export interface PlannedProject {
  /** Where the data came from. */
  readonly slug: string
  /** Where the file itself says that it goes. */
  readonly targetSlug: string | undefined
  readonly system: boolean
  readonly roles: readonly LineContent<'role'>[]
  readonly events: number
  /** Where in the spool file the events are, as lines. */
  readonly eventLines: ByteRange
  readonly stages: readonly PlannedStage[]
}

interface StageDraft {
  readonly slug: string
  readonly comment: string | undefined
  readonly notExported: LineContent<'stage'>['notExported']
  readonly structure: {
    types: StructureLines['types'][number][]
    sequences: LineContent<'sequence'>[]
    tables: LineContent<'table'>[]
  }
  readonly tables: TableDraft[]
  isWhole: boolean
}

interface TableDraft extends PlannedTable {
  rows: number
  readonly parts: PartDraft[]
  isWhole: boolean
}

interface PartDraft extends PlannedPart {
  rows: number
  range: ByteRange
}

interface ProjectDraft extends Omit<PlannedProject, 'roles' | 'stages'> {
  readonly roles: LineContent<'role'>[]
  events: number
  eventLines: ByteRange
  readonly stages: StageDraft[]
}

function addRows(table: TableDraft, { format, count, line, bytes }: RowBatch, end: number): void {
  table.rows += count
  const last = table.parts.at(-1)
  if (last?.format === format) {
    last.rows += count
    last.range = { start: last.range.start, end }
  } else {
    table.parts.push({ format, rows: count, firstLine: line, range: { start: end - bytes.length, end } })
  }
}

/**
 * Collects, from an archive's lines as they are read, what an import has to know. Rows pass by: it grows with the number
 * of tables. What it has collected so far can be looked at while more comes.
 */
export function createArchivePlan(): {
  /** @param position where in the spool file what comes next will begin. */
  add(item: ArchiveItem, position: number): void
  readonly projects: readonly PlannedProject[]
} {
  const projects: ProjectDraft[] = []

  const addToStage = (stage: StageDraft, item: ArchiveItem, position: number): void => {
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
        stage.tables.push({
          name: item.content.table,
          columns: item.content.columns,
          rows: 0,
          parts: [],
          isWhole: false,
        })
        break
      case 'row': {
        const table = stage.tables.at(-1)
        if (table) addRows(table, item, position)
        break
      }
      case 'rowsEnd': {
        const table = stage.tables.at(-1)
        if (table) table.isWhole = true
        break
      }
      case 'stageEnd':
        stage.isWhole = true
    }
  }

  return {
    projects,
    add(item, position) {
      if (item.kind === 'project') {
        const { slug, targetSlug, system } = item.content
        const eventLines = { start: position, end: position }
        projects.push({ slug, targetSlug, system, roles: [], events: 0, eventLines, stages: [] })
      }
      const project = projects.at(-1)
      if (!project) return
      if (item.kind === 'role') project.roles.push(item.content)
      if (item.kind === 'event') {
        project.events += 1
        project.eventLines = { ...project.eventLines, end: position }
      }
      if (item.kind === 'stage') {
        const { slug, comment, notExported } = item.content
        const structure = { types: [], sequences: [], tables: [] }
        project.stages.push({ slug, comment, notExported, structure, tables: [], isWhole: false })
      }
      const stage = project.stages.at(-1)
      if (stage) addToStage(stage, item, position)
    },
  }
}
