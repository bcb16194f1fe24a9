import { EXTENSIONS_SCHEMA } from '../../contract/extensions-schema.ts'
import { mayBeCalled } from './called-functions.ts'
import { asList, asTree, type Tree, treeAt } from './grammar.ts'

/** The schemas whose types and functions structure may name: PostgreSQL's own, and that of extensions. */
const SHARED_SCHEMAS: ReadonlySet<string> = new Set(['pg_catalog', 'information_schema', EXTENSIONS_SCHEMA])

/** Lists of names of which the first can be a schema; in other lists they are columns, arguments, kinds of statistics. */
const QUALIFIED: ReadonlySet<string> = new Set([
  ...(['names', 'name', 'funcname', 'collname', 'opclass', 'useOp', 'operName', 'defnames'] as const),
])

/** Lists of names that are columns: `a.b` there is a column of a table. */
const COLUMN_LISTS: ReadonlySet<string> = new Set([
  ...(['fields', 'keys', 'including', 'fk_attrs', 'pk_attrs', 'fk_del_set_cols', 'indirection'] as const),
])

export interface ReachOptions {
  /** Whether it may have subqueries and parameters, and call functions that act. */
  readonly mayAct: boolean
}

/**
 * Finds what a definition must not name: anything in a schema but PostgreSQL's own and that of extensions, and, where it may not act, subqueries,
 * parameters, and functions that act.
 *
 * @param parsed a tree of PostgreSQL's parser. @returns what it is, for a message; undefined if there is nothing.
 */
export function findReach(parsed: Tree, { mayAct }: ReachOptions): string | undefined {
  // Not by recursion: a tree may be deeper than the stack.
  const pending: Tree[] = [parsed]
  for (let tree = pending.pop(); tree; tree = pending.pop()) {
    for (const [key, value] of Object.entries(tree)) {
      const fault = mayAct ? findOutside(key, value, QUALIFIED.has(key)) : findReachOf(key, value)
      if (fault !== undefined) return fault
      const inner = Array.isArray(value) ? value : [value]
      for (const each of inner) if (typeof each === 'object' && each !== null) pending.push(asTree(each))
    }
  }
  return undefined
}

function findReachOf(key: string, value: unknown): string | undefined {
  if (key === 'SubLink' || key.endsWith('Stmt')) return 'must not have a subquery'
  if (key === 'ParamRef') return 'must not have parameters'
  if (key === 'schemaname') return OUTSIDE
  if (key === 'TypeCast') return findCastFault(asTree(value))
  if (key === 'FuncCall') return findCallFault(asTree(value))
  return findOutside(key, value, !COLUMN_LISTS.has(key))
}

/** @param isQualified whether the first of several names is a schema. */
function findOutside(key: string, value: unknown, isQualified: boolean): string | undefined {
  if (key === 'catalogname') return OUTSIDE
  if (key === 'schemaname') return typeof value === 'string' && SHARED_SCHEMAS.has(value) ? undefined : OUTSIDE
  const names = isQualified ? namesOf(value) : []
  return names.length > 1 && !SHARED_SCHEMAS.has(names[0] ?? '') ? OUTSIDE : undefined
}

const OUTSIDE = "must not name anything outside of the stage but what is PostgreSQL's own, or an extension's"

/** The names of a list that has nothing else in it; an empty list for any other. */
function namesOf(value: unknown): readonly string[] {
  const list = asList(value)
  const names = list.flatMap((item) => {
    const { sval } = treeAt(asTree(item), 'String')
    return typeof sval === 'string' ? [sval] : []
  })
  return names.length === list.length ? names : []
}

/** Functions whose first argument is the name of a sequence. */
const OF_SEQUENCES: ReadonlySet<string> = new Set(['nextval', 'currval'])

/** Functions that take the name of a configuration before the text. */
const OF_TEXT_SEARCH =
  /^(?:jsonb?_to_tsvector|(?:to_ts|(?:plainto|phraseto|websearch_to)_ts)(?:vector|query)|ts_headline)$/

function findCallFault({ funcname, args }: Tree): string | undefined {
  const name = namesOf(funcname).at(-1) ?? ''
  const given = asList(args)
  if (!mayBeCalled(name, given.length)) return 'must not call a function that acts instead of giving a value'
  if (OF_SEQUENCES.has(name)) return findReferenceFault(given[0])
  const isOfConfiguration = OF_TEXT_SEARCH.test(name) && given.length > 1 && constantOf(given[0]) !== undefined
  return isOfConfiguration ? findReferenceFault(given[0]) : undefined
}

/** PostgreSQL's types of names of objects, and arrays of them. */
const OBJECT_NAMES =
  /^_?reg(?:class|collation|config|database|dictionary|namespace|oper|operator|proc|procedure|role|type)$/

const isOfObjectNames = ({ names }: Tree): boolean => OBJECT_NAMES.test(namesOf(names).at(-1) ?? '')

/** Whether a cast makes a text the name of an object: `regclass`, `regtype`, ... */
function findCastFault({ typeName, arg }: Tree): string | undefined {
  return isOfObjectNames(asTree(typeName)) ? findReferenceFault(arg) : undefined
}

/** A constant that is written out, with casts that leave its text as it is: `'s'`, `('s'::text)::regclass`. */
function constantOf(argument: unknown): Tree | undefined {
  let tree = asTree(argument)
  for (;;) {
    const { A_Const: constant, TypeCast: cast } = tree
    if (constant !== undefined) return asTree(constant)
    const { arg, typeName } = asTree(cast)
    if (arg === undefined || !keepsText(asTree(typeName))) return undefined
    tree = asTree(arg)
  }
}

function keepsText(type: Tree): boolean {
  const { names, typmods, arrayBounds } = type
  const isText = /^(?:text|varchar)$/.test(namesOf(names).at(-1) ?? '') && typmods === undefined
  return arrayBounds === undefined && (isText || isOfObjectNames(type))
}

/** Whether what names an object is anything but a constant, or names one of another schema, or one by its number. */
function findReferenceFault(argument: unknown): string | undefined {
  const { sval: value, isnull } = constantOf(argument) ?? {}
  if (isnull === true) return undefined
  const { sval } = asTree(value)
  if (typeof sval !== 'string' || /^\s*\d+\s*$/.test(sval)) return 'must name an object by a constant'
  const names = sval.matchAll(/("(?:[^"]|"")*"|[^".,()[\]\s]+)(\s*\.)?/g)
  return [...names].every(([, name = '', dot]) => dot === undefined || SHARED_SCHEMAS.has(name)) ? undefined : OUTSIDE
}
