import type { LineInput } from '../../archive/lines.ts'

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

/** Something that no structure line describes. */
export type NotExported = NonNullable<LineInput<'stage'>['notExported']>[number]

export type ColumnLine = TableLine['columns'][number]
export type IdentityLine = NonNullable<ColumnLine['identity']>

/** What names an old row in logical replication, where that is not the primary key. */
export type ReplicaIdentity = NonNullable<TableLine['replicaIdentity']>
