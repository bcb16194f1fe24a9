import { type LineInput, OBJECT_KINDS, type ObjectLineKind } from '../../archive/lines.ts'

export type ExtensionLine = LineInput<'extension'>
export type EnumLine = LineInput<'enum'>
export type DomainLine = LineInput<'domain'>
export type CompositeLine = LineInput<'composite'>
export type RangeLine = LineInput<'range'>
export type SequenceLine = LineInput<'sequence'>
export type TableLine = LineInput<'table'>

/** A line that makes a type, with its kind. */
export type TypeLine =
  | { readonly kind: 'enum'; readonly content: EnumLine }
  | { readonly kind: 'domain'; readonly content: DomainLine }
  | { readonly kind: 'composite'; readonly content: CompositeLine }
  | { readonly kind: 'range'; readonly content: RangeLine }

/** A line of an object beside types, sequences and tables, with its kind. */
export type ObjectLine = { [K in ObjectLineKind]: { readonly kind: K; readonly content: LineInput<K> } }[ObjectLineKind]

/** Something that no structure line describes. */
export type NotExported = NonNullable<LineInput<'stage'>['notExported']>[number]

export type ColumnLine = TableLine['columns'][number]
export type IdentityLine = NonNullable<ColumnLine['identity']>

/** A constraint or an index. */
export type DefinitionLine = NonNullable<TableLine['checks']>[number]

/** An index, or a constraint that has one. */
export type IndexLine = NonNullable<TableLine['indexes']>[number]

/** What decides about which rows fit into something, by what it is called for people. */
export type Facts = Readonly<Record<string, string>>

export const yesOrNo = (flag: boolean): string => (flag ? 'yes' : 'no')

const MADE_AFTER_TABLES: ReadonlySet<ObjectLineKind> = new Set([
  ...(['view', 'materializedView', 'statistics', 'rule', 'trigger', 'policy'] as const),
])

/** Whether objects of a kind are made after the tables, even those that need none. */
export const isMadeAfterTables = (kind: ObjectLineKind): boolean => MADE_AFTER_TABLES.has(kind)

export const isObjectLine = (line: TypeLine | ObjectLine): line is ObjectLine =>
  OBJECT_KINDS.some((kind) => kind === line.kind)

export const isTypeLine = (line: TypeLine | ObjectLine): line is TypeLine => !isObjectLine(line)

/** The facts that there are. */
export const present = (facts: Readonly<Record<string, string | undefined>>): Facts =>
  Object.fromEntries(Object.entries(facts).filter((entry): entry is [string, string] => entry[1] !== undefined))
