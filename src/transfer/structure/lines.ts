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

export interface TableEntry {
  readonly kind: 'table'
  readonly content: TableLine
}

/** Where something that is made in two steps gets its second one. */
export interface SecondStepEntry {
  readonly kind: 'secondStep'
  readonly content: LineInput<'secondStep'>
}

/** A line whose place among the others says when it is made. */
export type OrderedLine = TypeLine | TableEntry | ObjectLine | SecondStepEntry

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

interface OfKind {
  readonly kind: OrderedLine['kind']
}

const MADE_AFTER_ROWS: ReadonlySet<OrderedLine['kind']> = new Set(['statistics', 'rule', 'trigger', 'policy'] as const)

/** Whether objects of a kind are made after the rows in any case: they act when rows change, or read them. */
export const isMadeAfterRows = ({ kind }: OfKind): boolean => MADE_AFTER_ROWS.has(kind)

const MAY_NEED_KEYS: ReadonlySet<OrderedLine['kind']> = new Set([
  ...(['view', 'materializedView', 'secondStep'] as const),
  ...MADE_AFTER_ROWS,
])

/** Whether objects of a kind are made after keys and the rows, where no table needs them: a view may group by a key. */
export const mayNeedKeys = ({ kind }: OfKind): boolean => MAY_NEED_KEYS.has(kind)

export const isObjectLine = (line: { readonly kind: string }): line is ObjectLine =>
  OBJECT_KINDS.some((kind) => kind === line.kind)

export const isTableEntry = (line: OrderedLine): line is TableEntry => line.kind === 'table'

export const isSecondStep = (line: OrderedLine): line is SecondStepEntry => line.kind === 'secondStep'

export const isTypeLine = (line: OrderedLine): line is TypeLine =>
  !isObjectLine(line) && !isTableEntry(line) && !isSecondStep(line)

interface InOrder {
  readonly inOrder: readonly OrderedLine[]
}

export const typesIn = ({ inOrder }: InOrder): TypeLine[] => inOrder.filter(isTypeLine)

export const objectsIn = ({ inOrder }: InOrder): ObjectLine[] => inOrder.filter(isObjectLine)

export const tablesIn = ({ inOrder }: InOrder): TableLine[] =>
  inOrder.filter(isTableEntry).map(({ content }) => content)

/** The facts that there are. */
export const present = (facts: Readonly<Record<string, string | undefined>>): Facts =>
  Object.fromEntries(Object.entries(facts).filter((entry): entry is [string, string] => entry[1] !== undefined))
