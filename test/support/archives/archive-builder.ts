import { type ArchiveWriter, createArchiveWriter } from '../../../src/archive/archive-writer.ts'
import type { LineInput, RowValue } from '../../../src/archive/lines.ts'
import type { StructureLines } from '../../../src/transfer/structure/create-statements.ts'
import type { ColumnLine, OrderedLine, TableLine } from '../../../src/transfer/structure/lines.ts'
import { rowLines } from './row-lines.ts'

export interface TableToWrite extends Omit<TableLine, 'columns'> {
  readonly columns: ColumnLine[]
  readonly rows?: readonly (readonly RowValue[])[]
}

export interface StageToWrite extends Partial<Omit<StructureLines, 'inOrder'>> {
  readonly slug?: string
  readonly comment?: string
  readonly beforeTables?: readonly OrderedLine[]
  readonly tables?: readonly TableToWrite[]
  readonly afterTables?: readonly OrderedLine[]
}

export interface ProjectToWrite {
  readonly slug: string
  readonly targetSlug?: string
  /** Roles of its system section; without them it has none. */
  readonly roles?: readonly LineInput<'role'>[]
  readonly stages?: readonly StageToWrite[]
}

/** A column, as short as it can be told. */
export const column = (name: string, type: string, more: Partial<ColumnLine> = {}): ColumnLine => ({
  name,
  type,
  nullable: true,
  ...more,
})

/** Writes an archive of which everything can be chosen, also what no export would write. */
export function buildArchive(...projects: readonly ProjectToWrite[]): Buffer {
  const writer = createArchiveWriter()
  const at = '2026-11-20T21:00:00.000Z'
  const pages: Buffer[] = [
    writer.open('archive', { version: 1, createdAt: at, snapshotAt: at, generator: 'by-hand/1' }),
  ]
  for (const { slug, targetSlug, roles, stages = [] } of projects) {
    pages.push(writer.open('project', { slug, system: roles !== undefined, ...(targetSlug && { targetSlug }) }))
    if (roles) {
      pages.push(writer.open('system', {}))
      for (const role of roles) pages.push(writer.open('role', role))
      pages.push(writer.close('systemEnd'))
    }
    for (const stage of stages) writeStage(writer, stage, pages)
    pages.push(writer.close('projectEnd'))
  }
  pages.push(writer.close('end'))
  return Buffer.concat(pages)
}

function writeStage(writer: ArchiveWriter, stage: StageToWrite, pages: Buffer[]): void {
  const {
    slug = 'live',
    comment,
    extensions = [],
    beforeTables = [],
    sequences = [],
    tables = [],
    afterTables = [],
  } = stage
  pages.push(writer.open('stage', { slug, ...(comment !== undefined && { comment }) }))
  for (const extension of extensions) pages.push(writer.open('extension', extension))
  for (const line of beforeTables) pages.push(writer.open(line.kind, line.content))
  for (const sequence of sequences) pages.push(writer.open('sequence', sequence))
  for (const { rows: _, ...line } of tables) pages.push(writer.open('table', line))
  for (const line of afterTables) pages.push(writer.open(line.kind, line.content))
  for (const { name, columns, partitionBy, rows = [] } of tables) {
    if (partitionBy !== undefined) continue
    const withValues = columns.filter(({ generated }) => generated === undefined)
    pages.push(writer.open('rows', { table: name, columns: withValues.map((each) => each.name) }))
    pages.push(writer.rows(rows.length, rowLines(rows)))
    pages.push(writer.close('rowsEnd'))
  }
  pages.push(writer.close('stageEnd'))
}
