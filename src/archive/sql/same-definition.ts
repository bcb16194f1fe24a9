import { isDeepStrictEqual } from 'node:util'
import type { Definition } from './definition.ts'
import { toParsedDefinition } from './definition.ts'
import { asList, asTree, type Grammar, type Tree, treeAt } from './grammar.ts'
import { isObjectDefinition } from './object-definition.ts'

/** How two texts of SQL differ. */
export type Difference =
  | 'none'
  /** In what expressions say, and in nothing else: not in columns, options, operator classes, actions. */
  | 'expressions'
  | 'more'

/**
 * How two texts differ in what they say to PostgreSQL, which prints what it has read in words of its own, and in others
 * from version to version: casts that go without saying, brackets, `IN` as `= ANY`, `varchar` as `character varying`.
 */
export function compareDefinitions(grammar: Grammar, a: string, b: string, definition: Definition): Difference {
  if (a === b) return 'none'
  const [left, right] = [toParsedDefinition(grammar, a, definition), toParsedDefinition(grammar, b, definition)]
  if (!left || !right) return 'more'
  if (isSameTree(left, right)) return 'none'
  // PostgreSQL has read all of it, as one statement that creates this object; its words for it differ by version.
  if (isObjectDefinition(definition)) return 'expressions'
  return isSameTree(withoutExpressions(left), withoutExpressions(right)) ? 'expressions' : 'more'
}

function isSameTree(left: unknown, right: unknown): boolean {
  const [plainLeft, plainRight] = [withoutForm(left), withoutForm(right)]
  return isDeepStrictEqual(withoutImplied(plainLeft, plainRight), withoutImplied(plainRight, plainLeft))
}

/** Where a definition has an expression: the whole of a default, a check, the condition or a key of an index. */
const EXPRESSIONS: ReadonlySet<string> = new Set(['def', 'raw_expr', 'whereClause', 'where_clause', 'expr'])

/** A definition with nothing in the place of its expressions, but that there is one. */
function withoutExpressions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutExpressions)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(asTree(value)).map(([key, inner]) => [
    key,
    EXPRESSIONS.has(key) ? 'an expression' : withoutExpressions(inner),
  ])
  return Object.fromEntries(entries)
}

/** The referenced columns are those of the primary key where none are named. */
function withoutImplied(tree: unknown, other: unknown): unknown {
  const { fk_attrs, pk_attrs } = asTree(other)
  const isImplied = fk_attrs !== undefined && pk_attrs === undefined
  const { pk_attrs: _named, ...rest } = asTree(tree)
  return isImplied ? rest : tree
}

/** What says how a tree was written, or is told by PostgreSQL only in some versions. */
const FORMAL: ReadonlySet<string> = new Set([
  ...(['location', 'funcformat', 'typemod', 'relpersistence', 'behavior'] as const),
  ...(['name_location', 'list_start', 'list_end', 'rexpr_list_start', 'rexpr_list_end'] as const),
])

/** Kinds of operators that PostgreSQL reads as plain ones. */
const PLAIN_OPERATORS: ReadonlySet<unknown> = new Set(['AEXPR_LIKE', 'AEXPR_ILIKE'])

function withoutForm(value: unknown): unknown {
  if (Array.isArray(value)) return withoutOwnSchema(value.map(withoutForm))
  if (typeof value !== 'object' || value === null) return value
  const tree = asTree(value)
  const { TypeCast: cast, A_Const: constant, A_Expr: operation } = tree
  if (cast !== undefined) return withoutForm(argumentOf(asTree(cast)))
  if (constant !== undefined) return toText(asTree(constant))
  if (operation !== undefined) return toOperator(asTree(operation))
  const entries = Object.entries(tree).flatMap(([key, inner]) =>
    FORMAL.has(key) || isDefault(key, inner)
      ? []
      : [[key, key === 'TypeName' ? toType(asTree(inner)) : withoutForm(inner)]],
  )
  return Object.fromEntries(entries)
}

const argumentOf = ({ arg }: Tree): unknown => arg

const isDefault = (key: string, value: unknown): boolean =>
  (key === 'accessMethod' && value === 'btree') ||
  (key === 'access_method' && value === 'btree') ||
  (key === 'ordering' && value === 'SORTBY_ASC') ||
  (key === 'ordering' && value === 'SORTBY_DEFAULT') ||
  (key === 'nulls_ordering' && value === 'SORTBY_NULLS_DEFAULT')

function withoutOwnSchema(list: readonly unknown[]): readonly unknown[] {
  const [first, ...others] = list
  const isOwnSchema = nameOf(first) === 'pg_catalog'
  return isOwnSchema && others.length > 0 ? others : list
}

function nameOf(item: unknown): unknown {
  const { sval } = treeAt(asTree(item), 'String')
  return sval
}

/** A constant, whose type is told by a cast or by how it is written: `5` and `'5'::integer`. */
function toText(constant: Tree): unknown {
  const [[kind, value] = ['', {}]] = Object.entries(constant).filter(([key]) => key !== 'location')
  if (kind === 'isnull') return { constant: null }
  const inner = Object.values(asTree(value))[0]
  return { constant: String(inner ?? (kind === 'boolval' ? false : kind === 'ival' ? 0 : '')) }
}

function toOperator({ kind, name, lexpr, rexpr }: Tree): unknown {
  const [left, right] = [withoutForm(lexpr), withoutForm(rexpr)]
  const operator = withoutForm(name)
  if (kind === 'AEXPR_IN') {
    const { items } = treeAt(asTree(rexpr), 'List')
    const isAny = nameOf(asList(name)[0]) === '='
    const elements = asList(items).map(withoutForm)
    return { kind: isAny ? 'AEXPR_OP_ANY' : 'AEXPR_OP_ALL', operator, left, right: { A_ArrayExpr: { elements } } }
  }
  return { kind: PLAIN_OPERATORS.has(kind) ? 'AEXPR_OP' : kind, operator, left, right }
}

/** `integer[3][3]` is `integer[]`, and `numeric(10)` is `numeric(10,0)`. */
function toType({ names, typmods, arrayBounds }: Tree): unknown {
  const modifiers = asList(withoutForm(asList(typmods)))
  const isNumeric = JSON.stringify(names).includes('"numeric"')
  return {
    names: withoutForm(names),
    modifiers: isNumeric && modifiers.length === 1 ? [...modifiers, { constant: '0' }] : modifiers,
    isArray: arrayBounds !== undefined,
  }
}
