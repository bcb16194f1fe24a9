import type { ObjectLineKind } from '../../../archive/lines.ts'
import type { Unordered } from '../creation-order.ts'
import type { ObjectKey } from '../dependencies.ts'
import { describable, type LineContext } from '../line-context.ts'
import type { ObjectLine } from '../lines.ts'
import type { Query } from '../query.ts'
import { COLLATION } from './collations.ts'
import { FUNCTION } from './functions.ts'
import { MATERIALIZED_VIEW } from './materialized-views.ts'
import type { ObjectKind, ObjectLineOf, ObjectRow } from './object-kind.ts'
import { CAST, OPERATOR } from './operators.ts'
import { STATISTICS } from './statistics.ts'
import { POLICY, RULE, TRIGGER } from './table-objects.ts'
import { TEXT_SEARCH_CONFIGURATION, TEXT_SEARCH_DICTIONARY } from './text-search.ts'
import { createColumns, typedColumns, VIEW } from './views.ts'

/** An object of the schema, as read from the catalogs. */
export type AnyObjectRow = { [K in ObjectLineKind]: { readonly kind: K } & ObjectRow<K> }[ObjectLineKind]

/** In the order in which they are made where nothing needs another order. */
const KINDS: { readonly [K in ObjectLineKind]: ObjectKind<K> } = {
  collation: COLLATION,
  textSearchDictionary: TEXT_SEARCH_DICTIONARY,
  textSearchConfiguration: TEXT_SEARCH_CONFIGURATION,
  function: FUNCTION,
  operator: OPERATOR,
  cast: CAST,
  view: VIEW,
  materializedView: MATERIALIZED_VIEW,
  statistics: STATISTICS,
  rule: RULE,
  trigger: TRIGGER,
  policy: POLICY,
}

/** Reads the schema's objects beside types, sequences and tables. */
export async function readObjects(query: Query, schemaOid: string): Promise<AnyObjectRow[]> {
  const rows = Object.entries(KINDS).map(async ([kind, { sql }]) =>
    (await query<object>(sql, [schemaOid])).map((row) => ({ kind, ...row }) as AnyObjectRow),
  )
  return (await Promise.all(rows)).flat()
}

/** The views that can be made in two steps. */
export const breakableViews = (rows: readonly AnyObjectRow[]): readonly ObjectKey[] =>
  rows.flatMap((row) => (row.kind === 'view' && typedColumns(row)?.length ? [row.key] : []))

/** The objects, with the types of columns for those views that are made in two steps. */
export const inTwoSteps = (
  rows: readonly AnyObjectRow[],
  views: ReadonlyMap<ObjectKey, unknown>,
): readonly AnyObjectRow[] =>
  rows.map((row) => {
    const columns = row.kind === 'view' && views.has(row.key) ? typedColumns(row) : null
    return row.kind === 'view' && columns ? { ...row, line: { ...row.line, columns } } : row
  })

/** The first step of the views that are made in two. */
export const createFirst = (object: ObjectLine): readonly string[] =>
  object.kind === 'view' ? createColumns(object.content) : []

/** Calls one of the methods of an object's kind: the compiler does not follow that kind and content go together. */
const kindOf = ({ kind }: { readonly kind: ObjectLineKind }) => KINDS[kind] as ObjectKind<ObjectLineKind>

/** The lines of the schema's objects, each with a name by which they are ordered. */
export const toObjectLines = (rows: readonly AnyObjectRow[], context: LineContext): readonly Unordered<ObjectLine>[] =>
  rows
    .flatMap((row) => describable(context, nounOf(row), [row]))
    .map((row) => ({
      key: row.key,
      name: `${String(RANKS.indexOf(row.kind)).padStart(2, '0')} ${row.name}`,
      line: toObjectLine(row),
    }))

export function toObjectLine(row: AnyObjectRow): ObjectLine {
  const content = kindOf(row).toLine?.(row) ?? row.line
  return { kind: row.kind, content } as ObjectLine
}

/** In which order kinds come where nothing needs another. */
const RANKS = Object.keys(KINDS)

/** What people call the kind of an object. */
function nounOf(object: { readonly kind: ObjectLineKind; readonly line: ObjectLineOf<ObjectLineKind> }): string {
  const { noun } = kindOf(object)
  return typeof noun === 'string' ? noun : noun(object.line)
}

/** Names an object among its kind. */
export const objectName = (object: ObjectLine): string => kindOf(object).nameOf(object.content)

export const createObject = (object: ObjectLine): readonly string[] => kindOf(object).create(object.content)

/** What is done once everything else is there: when triggers act. */
export const completeObject = (object: ObjectLine): readonly string[] => kindOf(object).complete?.(object.content) ?? []

/** The last thing that is done, before the stage gets this schema. @param schemaName that of the stage. */
export const settleObject = (object: ObjectLine, schemaName: string): readonly string[] =>
  kindOf(object).settle?.(object.content, schemaName) ?? []

export const dropObject = (object: ObjectLine): string => kindOf(object).drop(object.content)
