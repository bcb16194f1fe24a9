import { createHash } from 'node:crypto'
import {
  type ClosingKind,
  type Entry,
  isObject,
  type LineContent,
  type LineKind,
  type ObjectLineKind,
  type OpeningKind,
} from './lines.ts'
import { type AnyKind, follow, misplaced, type Position } from './order.ts'
import type { OwnTypes, RowColumn } from './row-encoder.ts'
import { isLastPart, partFault } from './table-parts.ts'
import { unquoted } from './type-names.ts'

export type TableContent = LineContent<'table'>

/** The lines that are counted and summed up by the line that closes their section. */
export type SummedKind = 'role' | 'event' | 'row'

/** In which of a PostgreSQL schema's name spaces a kind of line claims its name. */
const NAME_SPACES: Partial<Record<LineKind, readonly ('types' | 'relations')[]>> = {
  enum: ['types'],
  domain: ['types'],
  range: ['types'],
  composite: ['types', 'relations'],
  table: ['types', 'relations'],
  sequence: ['relations'],
  view: ['types', 'relations'],
  materializedView: ['types', 'relations'],
}

const divisibleKey = (kind: string, name: string): string => JSON.stringify([kind, name])

export interface SectionOptions {
  /** Whether sums are made; without, every sum is empty. */
  readonly sums: boolean
  /** Makes what is thrown where a line cannot stand. */
  readonly fault: (detail: string) => Error
}

/**
 * Follows an archive line by line as it is written or read: checks the order of lines and that names are unique,
 * counts, and sums up. Every method throws a `fault` where the line does not belong.
 */
export class ArchiveSections {
  readonly #options: SectionOptions
  #position: Position = 'start'
  #rowColumns: readonly RowColumn[] = []
  #sum = createHash('sha256')
  /** Of the section that is open. */
  #counts = { role: 0, event: 0, row: 0 }
  /** The section of rows that is open, or came last. */
  #rows: LineContent<'rows'> = { table: '', columns: [] }
  #stage = { slug: '', tables: 0, rows: 0 }
  #project = ''
  /** Whether the stage that is open says that lines have its rights. */
  #hasGrants = false
  #totalRows = 0

  readonly #projects = new Set<string>()
  readonly #stages = new Set<string>()
  readonly #names = { types: new Set<string>(), relations: new Set<string>() }
  readonly #extensions = new Set<string>()
  /** Functions and the like, by all that tells them apart. */
  readonly #objects = new Set<string>()
  readonly #enums = new Set<string>()
  /** By the stage's domains, the type that each is over in the end. */
  readonly #domains = new Map<string, string>()
  /** Tables described in this stage whose rows have not come. */
  readonly #awaited = new Map<string, TableContent>()
  /** Partitioned tables described in this stage, which have no rows but those of their partitions. */
  readonly #partitioned = new Set<string>()
  /** Tables described in this stage that others can inherit from. */
  readonly #parents = new Set<string>()
  readonly #composites = new Set<string>()
  /** What can have a second step, by its kind and name: of tables, with the columns that it can be about. */
  readonly #divisible = new Map<string, ReadonlySet<string>>()

  constructor(options: SectionOptions) {
    this.#options = options
  }

  /** Where in the archive the next line would stand. */
  get position(): Position {
    return this.#position
  }

  /** The table whose rows are due, or came last. */
  get table(): string {
    return this.#rows.table
  }

  /** The columns of that table, in the order of their values. */
  get rowColumns(): readonly RowColumn[] {
    return this.#rowColumns
  }

  /** The types of the stage that is open. */
  get ownTypes(): OwnTypes {
    return { all: this.#names.types, enums: this.#enums }
  }

  /** Enters a line that begins or describes something. @param bytes the whole line, newline included. */
  open(entry: Entry<OpeningKind>, bytes: Buffer): void {
    const isContinued = this.#position === 'parts'
    this.#step(entry.kind)
    if ('name' in entry.content) {
      for (const space of NAME_SPACES[entry.kind] ?? []) this.#claim(this.#names[space], entry.kind, entry.content.name)
    }
    if (isObject(entry)) this.#claimObject(entry)
    if (entry.kind === 'grants') this.#claimGrants(entry.content)
    if (entry.kind === 'project') this.#openProject(entry.content)
    if (entry.kind === 'stage') this.#openStage(entry.content)
    if (entry.kind === 'extension') this.#claim(this.#extensions, 'extension', entry.content.name)
    if (entry.kind === 'composite') this.#composites.add(entry.content.name)
    if (entry.kind === 'enum') this.#enums.add(entry.content.name)
    if (entry.kind === 'domain') this.#domains.set(entry.content.name, this.#baseOf(entry.content.type))
    if (entry.kind === 'table') this.#openTable(entry.content)
    if (entry.kind === 'secondStep') this.#claimSecondStep(entry.content)
    else this.#addDivisible(entry)
    if (entry.kind === 'rows') this.#openRows(entry.content, isContinued)
    if (entry.kind === 'role' || entry.kind === 'event') this.#sumUp(entry.kind, 1, bytes)
  }

  /** Enters lines that are not looked into. @param count how many begin in `bytes`, which have newlines and may end in the middle of one. */
  add(kind: SummedKind, count: number, bytes: Buffer): void {
    this.#step(kind)
    this.#sumUp(kind, count, bytes)
  }

  /**
   * Enters a closing line.
   *
   * @param last of `rowsEnd`: whether the table has no more parts.
   * @returns what that line has to say about all since what it closes.
   */
  close(kind: ClosingKind, { last = true }: { readonly last?: boolean } = {}): Entry<ClosingKind> {
    this.#step(kind)
    switch (kind) {
      case 'systemEnd': {
        const { role, event, sha256 } = this.#takeCounts()
        return { kind, content: { roles: role, events: event, sha256 } }
      }
      case 'rowsEnd': {
        const { row: rows, sha256 } = this.#takeCounts()
        this.#stage.rows += rows
        const { table, part } = this.#rows
        const isLast = isLastPart({ part, last })
        if (isLast) this.#stage.tables += 1
        else this.#position = 'parts'
        if (part === undefined) return { kind, content: { table, rows, sha256 } }
        return { kind, content: { table, part, rows, sha256, ...(isLast && { last }) } }
      }
      case 'stageEnd': {
        const [missing] = this.#awaited.keys()
        if (missing !== undefined) throw this.#options.fault(`the rows of table "${missing}" are missing`)
        this.#totalRows += this.#stage.rows
        return { kind, content: this.#stage }
      }
      case 'projectEnd':
        return { kind, content: { slug: this.#project } }
      case 'end':
        return { kind, content: { projects: this.#projects.size, rows: this.#totalRows } }
    }
  }

  #step(kind: AnyKind): void {
    const next = follow(this.#position, kind)
    if (!next) throw this.#options.fault(misplaced(kind, this.#position))
    this.#position = next
  }

  #claim(taken: Set<string>, what: string, name: string): void {
    if (taken.has(name)) throw this.#options.fault(`${what} "${name}": the name is taken by a line before`)
    taken.add(name)
  }

  #claimObject({ kind, content }: Entry<ObjectLineKind>): void {
    // The names that PostgreSQL itself tells these kinds apart by, where they have them.
    const { name, table, arguments: types, left, right }: Partial<Record<string, unknown>> = { ...content }
    const identity = JSON.stringify([kind, name, table, types, left, right])
    if (this.#objects.has(identity)) throw this.#options.fault(`${kind} "${content.name}": a line before describes it`)
    this.#objects.add(identity)
  }

  #claimGrants({ object, name, arguments: types, column }: LineContent<'grants'>): void {
    if (!this.#hasGrants) throw this.#options.fault('the stage does not say that its rights follow')
    const identity = JSON.stringify(['grants', object, name, types, column])
    if (this.#objects.has(identity)) throw this.#options.fault(`the rights on this ${object} stand in a line before`)
    this.#objects.add(identity)
  }

  #addDivisible({ kind, content }: Entry): void {
    const isInColumns = kind === 'view' && content.columns.length > 0 && content.columns.every((column) => column.type)
    if (kind === 'domain' || isInColumns) this.#divisible.set(divisibleKey(kind, content.name), new Set())
    if (kind !== 'table') return
    const generated = content.columns.filter((column) => column.generated !== undefined)
    this.#divisible.set(divisibleKey(kind, content.name), new Set(generated.map(({ name }) => name)))
  }

  #claimSecondStep({ object, name, columns = [] }: LineContent<'secondStep'>): void {
    const known = this.#divisible.get(divisibleKey(object, name))
    if (!known || !columns.every((column) => known.has(column))) {
      throw this.#options.fault(
        `${object} "${name}": no line before describes its first step, or this is not the first`,
      )
    }
    this.#divisible.delete(divisibleKey(object, name))
  }

  #sumUp(kind: SummedKind, count: number, bytes: Buffer): void {
    this.#counts[kind] += count
    if (this.#options.sums) this.#sum.update(bytes)
  }

  #takeCounts() {
    const taken = { ...this.#counts, sha256: this.#options.sums ? this.#sum.digest('hex') : '' }
    this.#counts = { role: 0, event: 0, row: 0 }
    this.#sum = createHash('sha256')
    return taken
  }

  #openProject({ slug, system }: LineContent<'project'>): void {
    this.#claim(this.#projects, 'project', slug)
    this.#project = slug
    this.#stages.clear()
    if (!system) this.#position = 'stages'
  }

  #openStage({ slug, grants = false }: LineContent<'stage'>): void {
    this.#claim(this.#stages, 'stage', slug)
    this.#hasGrants = grants
    this.#stage = { slug, tables: 0, rows: 0 }
    this.#names.types.clear()
    this.#names.relations.clear()
    this.#extensions.clear()
    this.#objects.clear()
    this.#enums.clear()
    this.#domains.clear()
    this.#partitioned.clear()
    this.#parents.clear()
    this.#composites.clear()
    this.#divisible.clear()
  }

  #openTable(content: TableContent): void {
    const columns = new Set<string>()
    for (const { name } of content.columns) this.#claim(columns, 'column', name)
    const { name, partitionBy, partitionOf, inherits = [], of } = content
    if (partitionOf && !this.#partitioned.has(partitionOf.table)) {
      throw this.#options.fault(
        `table "${name}": no line before describes its partitioned table "${partitionOf.table}"`,
      )
    }
    const unknown = inherits.find((parent) => !this.#parents.has(parent))
    if (unknown !== undefined) {
      throw this.#options.fault(`table "${name}": no line before describes "${unknown}", which it inherits from`)
    }
    if (of !== undefined && !this.#composites.has(of)) {
      throw this.#options.fault(`table "${name}": no line before describes its composite type "${of}"`)
    }
    if (partitionBy === undefined && !partitionOf) this.#parents.add(name)
    if (partitionBy === undefined) this.#awaited.set(name, content)
    else this.#partitioned.add(name)
  }

  #openRows(rows: LineContent<'rows'>, isContinued: boolean): void {
    const problem = partFault(rows, isContinued ? this.#rows : undefined)
    if (problem !== undefined) throw this.#options.fault(problem)
    this.#rows = rows
    if (isContinued) return
    const { table, columns } = rows
    const described = this.#awaited.get(table)
    if (!described) {
      throw this.#options.fault(`table "${table}" is not described in this stage, or its rows came before`)
    }
    this.#awaited.delete(table)
    this.#rowColumns = this.#columnsOfRows(described, columns)
  }

  /** @returns the described columns in the order of `names`, which must be all that carry values, each once. */
  #columnsOfRows(table: TableContent, names: readonly string[]): RowColumn[] {
    const withValues = table.columns.filter((column) => column.generated === undefined)
    const due = new Map(withValues.map((column) => [column.name, column]))
    const columns = names.map((name) => {
      const column = due.get(name)
      if (!column) throw this.#options.fault(`column "${name}" is not described, is generated, or was named before`)
      due.delete(name)
      return { name, type: this.#baseOf(column.type) }
    })
    const [missing] = due.keys()
    if (missing !== undefined) throw this.#options.fault(`column "${missing}" of table "${table.name}" is missing`)
    return columns
  }

  #baseOf(type: string): string {
    return this.#domains.get(unquoted(type)) ?? type
  }
}
