import { quoteIdentifier } from '../../database/quoting.ts'
import { commentOn } from './clauses.ts'
import type { Unordered } from './creation-order.ts'
import { describable, type LineContext } from './line-context.ts'
import type { CompositeLine, EnumLine, Facts, RangeLine, TypeLine } from './lines.ts'
import type { Query } from './query.ts'
import { COMPOSITE } from './types/composites.ts'
import { DOMAIN, type DomainRow, toDomainLine, uncheckedDomainChecks } from './types/domains.ts'
import { ENUM } from './types/enums.ts'
import { RANGE } from './types/ranges.ts'
import type { TypeRow } from './types/type-kind.ts'

/** A type of the schema, as read from the catalogs. */
export type AnyTypeRow =
  | ({ readonly kind: 'enum' } & TypeRow<EnumLine>)
  | ({ readonly kind: 'domain' } & DomainRow)
  | ({ readonly kind: 'composite' } & TypeRow<CompositeLine>)
  | ({ readonly kind: 'range' } & TypeRow<RangeLine>)

const KINDS = { enum: ENUM, domain: DOMAIN, composite: COMPOSITE, range: RANGE }

/** Reads the schema's enums, domains, standalone composite types and ranges. */
export async function readTypes(query: Query, schemaOid: string): Promise<AnyTypeRow[]> {
  const rows = Object.entries(KINDS).map(async ([kind, { sql }]) =>
    (await query<object>(sql, [schemaOid])).map((row) => ({ kind, ...row }) as AnyTypeRow),
  )
  return (await Promise.all(rows)).flat()
}

/** The lines of the schema's types, each with a name by which they are ordered. */
export const toTypeLines = (rows: readonly AnyTypeRow[], context: LineContext): readonly Unordered<TypeLine>[] =>
  rows
    .flatMap((row) => describable(context, KINDS[row.kind].noun, [row]))
    .map((row) => ({ key: row.key, name: row.name, line: toTypeLine(row, context) }))

const toTypeLine = (row: AnyTypeRow, context: LineContext): TypeLine =>
  ({ kind: row.kind, content: row.kind === 'domain' ? toDomainLine(row, context) : row.line }) as TypeLine

/** Calls one of the methods of a type's kind: the compiler does not follow that kind and content go together. */
const kindOf = ({ kind }: TypeLine) =>
  KINDS[kind] as {
    create(name: string, content: object): string
    complete?(name: string, content: object): string[]
    facts(content: object): Facts
  }

/** `CREATE TYPE` or `CREATE DOMAIN`. */
export const createType = (type: TypeLine): string =>
  kindOf(type).create(quoteIdentifier(type.content.name), type.content)

/** What a type is given once all types are there: a domain's default and checks, comments. */
export function completeType(type: TypeLine): string[] {
  const name = quoteIdentifier(type.content.name)
  const noun = type.kind === 'domain' ? 'DOMAIN' : 'TYPE'
  return [...(kindOf(type).complete?.(name, type.content) ?? []), ...commentOn(`${noun} ${name}`, type.content.comment)]
}

/** What a type is given once the rows are there: checks that are NOT VALID. */
export const uncheckedChecks = ({ kind, content }: TypeLine): string[] =>
  kind === 'domain' ? uncheckedDomainChecks(quoteIdentifier(content.name), content) : []

/** What decides about which rows fit. */
export const typeFacts = (type: TypeLine): Facts => kindOf(type).facts(type.content)
