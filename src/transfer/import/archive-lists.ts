import { EventEmitter, once } from 'node:events'
import { crc32 } from 'node:zlib'
import type { ArchiveItem, RowBatch } from '../../archive/archive-item.ts'
import { type Entry, type LineContent, STRUCTURE_KINDS } from '../../archive/lines.ts'
import type { RowFormat } from '../../archive/row-encoder.ts'
import { isFirstPart, isLastPart } from '../../archive/table-parts.ts'
import type { ByteRange } from '../../lib/byte-range.ts'
import type { StructureLines } from '../structure/create-statements.ts'
import type { ObjectGrants } from '../structure/grants/grants.ts'
import type { OrderedLine } from '../structure/lines.ts'

/** What is known of a project in an archive, but for its rows and events. */
export interface ArchiveProject {
  /** Where the data came from. */
  readonly slug: string
  /** Where the file itself says that it goes. */
  readonly targetSlug: string | undefined
  readonly system: boolean
  readonly roles: readonly LineContent<'role'>[]
  readonly events: number
  /** Since when its logs have all events; undefined where none was removed. */
  readonly eventsSince: string | undefined
  /** Where in the spool file the events are, as lines. */
  readonly eventLines: ByteRange
  readonly stages: readonly ArchiveStage[]
}

export interface ArchiveStage {
  readonly slug: string
  readonly comment: string | undefined
  /** The schema that it was; undefined where it was one of Wharf's shared database. */
  readonly sourceSchema: string | undefined
  /** What the archive could not describe of it. */
  readonly notExported: LineContent<'stage'>['notExported']
  /** Whether that is nothing; undefined where an earlier version wrote the archive, which did not look for everything. */
  readonly complete: boolean | undefined
  readonly structure: StructureLines
  /** All rights on it; undefined where the archive says nothing of them. */
  readonly grants: readonly ObjectGrants[] | undefined
  /** Those whose rows have begun to come. */
  readonly tables: readonly ArchiveTable[]
  /** Whether nothing of it is still to come. */
  readonly isWhole: boolean
}

/** The rows of a table, as they are counted while the archive is checked. */
export interface ArchiveTable {
  readonly name: string
  /** Those that have values, in the order of the values. */
  readonly columns: readonly string[]
  readonly rows: number
  /** How many parts have come, whole. */
  readonly parts: number
  /** The rows of all parts in their order: at most some in the binary format, and then some in text. */
  readonly copies: readonly ArchiveCopy[]
  /** Whether nothing of it is still to come. */
  readonly isWhole: boolean
}

/** Rows of a table that one COPY loads, from one part or from several. */
export interface ArchiveCopy {
  readonly format: RowFormat
  readonly rows: number
  /** Line of the archive at which the rows begin: those of a part stand one after the other. */
  readonly firstLine: number
  /** After how many of its rows each other part begins, which is a number for each however small they are. */
  readonly partStarts: readonly number[]
  /** Where loading may be interrupted: the ends of parts, as far apart as `BETWEEN_ENDS_BYTES`. */
  readonly partEnds: readonly PartEnd[]
  /** Where in the spool file they are. */
  readonly range: ByteRange
  /** CRC-32 of these bytes. */
  readonly crc32: number
}

/** Where a part of a table ends, within what one COPY loads. Its counts and its sum have been compared. */
export interface PartEnd {
  /** How many parts of the table end here or before. */
  readonly parts: number
  /** How many rows of the COPY come before, in how many bytes. */
  readonly rows: number
  readonly bytes: number
  /** CRC-32 of these bytes. */
  readonly crc32: number
}

/** An archive may have two million parts that are smaller. */
const BETWEEN_ENDS_BYTES = 256 * 1024

/**
 * What an import has to know of an archive, as lists that grow while it arrives: with the number of its tables, not of its
 * rows. An archive that has arrived is one whose lists do not grow any more.
 */
export interface ArchiveLists {
  readonly projects: readonly ArchiveProject[]
  /** Whether nothing is still to come. */
  readonly isWhole: boolean
  /** Adds a line, or rows. @param end where in the spool file the bytes of the item end. */
  add(item: ArchiveItem, end: number): void
  /** Waits until something has been added. @throws the signal's reason, wrapped in an AbortError. */
  grown(signal: AbortSignal): Promise<void>
}

/** The same, to be written. */
type Growing<T> = T extends readonly (infer Item)[]
  ? Growing<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Growing<T[Key]> }
    : T

export function createArchiveLists(): ArchiveLists {
  const projects: Growing<ArchiveProject>[] = []
  const growth = new EventEmitter()
  let isWhole = false

  const addToProject = (item: ArchiveItem, end: number): void => {
    if (item.kind === 'project') {
      const { slug, targetSlug, system } = item.content
      const log: Pick<Growing<ArchiveProject>, 'events' | 'eventsSince' | 'eventLines'> = {
        events: 0,
        eventsSince: undefined,
        eventLines: { start: end, end },
      }
      projects.push({ slug, targetSlug, system, roles: [], ...log, stages: [] })
    }
    const project = projects.at(-1)
    if (!project) return
    if (item.kind === 'system') project.eventsSince = item.content.eventsSince
    if (item.kind === 'role') project.roles.push(item.content)
    if (item.kind === 'event') {
      project.events += 1
      project.eventLines.end = end
    }
    if (item.kind === 'stage') {
      const structure = { extensions: [], sequences: [], inOrder: [] }
      const unsaid = { comment: undefined, sourceSchema: undefined, complete: undefined }
      const grants = item.content.grants ? [] : undefined
      project.stages.push({ ...unsaid, ...item.content, structure, grants, tables: [], isWhole: false })
    }
    const stage = project.stages.at(-1)
    if (stage) addToStage(stage, item, end)
  }

  return {
    projects,
    get isWhole() {
      return isWhole
    },
    add(item, end) {
      addToProject(item, end)
      if (item.kind === 'end') isWhole = true
      growth.emit('grown')
    },
    async grown(signal) {
      await once(growth, 'grown', { signal })
    },
  }
}

function addToStage(stage: Growing<ArchiveStage>, item: ArchiveItem, end: number): void {
  const table = stage.tables.at(-1)
  if (item.kind !== 'row' && isOrdered(item)) {
    stage.structure.inOrder.push({ kind: item.kind, content: item.content } as Growing<OrderedLine>)
  }
  switch (item.kind) {
    case 'extension':
      stage.structure.extensions.push(item.content)
      break
    case 'sequence':
      stage.structure.sequences.push(item.content)
      break
    case 'grants':
      stage.grants?.push(item.content as Growing<ObjectGrants>)
      break
    case 'rows':
      if (isFirstPart(item.content)) {
        const { table: name, columns } = item.content
        stage.tables.push({ name, columns, rows: 0, parts: 0, copies: [], isWhole: false })
      } else {
        const copy = table?.copies.at(-1)
        copy?.partStarts.push(copy.rows)
      }
      break
    case 'row':
      if (table) addRows(table, item, end)
      break
    case 'rowsEnd':
      if (table) endPart(table, isLastPart(item.content))
      break
    case 'stageEnd':
      stage.isWhole = true
  }
}

/** @param row counted from 0. @returns its line in the archive: the lines that end a part and begin the next come between. */
export const lineOf = ({ firstLine, partStarts }: ArchiveCopy, row: number): number =>
  firstLine + row + 2 * partStarts.filter((start) => start <= row).length

const isOrdered = ({ kind }: Entry): boolean =>
  STRUCTURE_KINDS.some((each) => each === kind) && kind !== 'extension' && kind !== 'sequence'

function endPart(table: Growing<ArchiveTable>, isLast: boolean): void {
  table.parts += 1
  table.isWhole = isLast
  const copy = table.copies.at(-1)
  if (!copy || isLast) return
  const { range, rows, partEnds, crc32: sum } = copy
  const bytes = range.end - range.start
  if (bytes - (partEnds.at(-1)?.bytes ?? 0) < BETWEEN_ENDS_BYTES) return
  partEnds.push({ parts: table.parts, rows, bytes, crc32: sum })
}

function addRows(table: Growing<ArchiveTable>, { format, count, line, bytes }: RowBatch, end: number): void {
  table.rows += count
  const last = table.copies.at(-1)
  if (last?.format === format) {
    last.rows += count
    last.range.end = end
    last.crc32 = crc32(bytes.now, last.crc32)
  } else {
    const range = { start: end - bytes.length, end }
    table.copies.push({
      format,
      rows: count,
      firstLine: line,
      partStarts: [],
      partEnds: [],
      range,
      crc32: crc32(bytes.now),
    })
  }
}
