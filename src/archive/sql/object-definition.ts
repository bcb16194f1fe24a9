import { asList, asTree, type Tree, treeAt } from './grammar.ts'

/** What a text of SQL in the line of an object is. Names are unquoted. */
export type ObjectDefinition =
  /** The query of a view. */
  | { readonly form: 'query' }
  | { readonly form: 'function'; readonly name: string; readonly kind: FunctionKind }
  /** The types of a function's arguments. */
  | { readonly form: 'arguments'; readonly kind: FunctionKind }
  | { readonly form: 'operator' | 'collation' | 'text search dictionary'; readonly name: string }
  | { readonly form: 'cast' }
  | { readonly form: ObjectOfTable; readonly name: string; readonly table: string }

export type FunctionKind = 'function' | 'procedure' | 'window' | 'aggregate'
type ObjectOfTable = 'trigger' | 'rule' | 'policy' | 'statistics'

const FORMS: ReadonlySet<string> = new Set<ObjectDefinition['form']>([
  ...(['query', 'function', 'arguments', 'operator', 'collation', 'text search dictionary', 'cast'] as const),
  ...(['trigger', 'rule', 'policy', 'statistics'] as const),
])

export const isObjectDefinition = (definition: { readonly form: string }): definition is ObjectDefinition =>
  FORMS.has(definition.form)

/** A statement with the text in it. */
export function objectStatement(text: string, definition: ObjectDefinition): string {
  if (definition.form === 'query') return `CREATE VIEW v AS ${text}`
  if (definition.form !== 'arguments') return text
  if (text !== text.trim()) return ''
  return definition.kind === 'aggregate' ? `DROP AGGREGATE f(${text || '*'})` : `DROP FUNCTION f(${text})`
}

/** What the text has to be, for a message. */
export function describeObject(definition: ObjectDefinition): string {
  switch (definition.form) {
    case 'query':
      return 'one query'
    case 'function':
      return `one statement that creates ${definition.kind} "${definition.name}"`
    case 'arguments':
      return "the types of a function's arguments"
    case 'cast':
      return 'one statement that creates a cast'
    case 'operator':
    case 'collation':
    case 'text search dictionary':
      return `one statement that creates ${definition.form} "${definition.name}"`
    default:
      return `one statement that creates ${definition.form} "${definition.name}" on table "${definition.table}"`
  }
}

/** @returns what the text was parsed to; undefined where the statement is more than that, or something else. */
export function takeObject(statement: Tree, definition: ObjectDefinition): Tree | undefined {
  switch (definition.form) {
    case 'query':
      return takeQuery(treeAt(statement, 'ViewStmt'))
    case 'function':
      return isFunction(statement, definition) ? statement : undefined
    case 'arguments': {
      const { objects } = treeAt(statement, 'DropStmt')
      return asList(objects).length === 1 ? statement : undefined
    }
    case 'operator':
    case 'collation':
    case 'text search dictionary': {
      const { kind, defnames, if_not_exists } = treeAt(statement, 'DefineStmt')
      const isThisOne = kind === OBJECT_TYPES[definition.form] && onlyName(defnames) === definition.name
      return isThisOne && !if_not_exists ? statement : undefined
    }
    case 'cast':
      return Object.hasOwn(statement, 'CreateCastStmt') ? statement : undefined
    case 'trigger': {
      const { trigname, relation } = treeAt(statement, 'CreateTrigStmt')
      return trigname === definition.name && isTable(relation, definition.table) ? statement : undefined
    }
    case 'rule': {
      const { rulename, relation } = treeAt(statement, 'RuleStmt')
      return rulename === definition.name && isTable(relation, definition.table) ? statement : undefined
    }
    case 'policy':
      return isPolicy(treeAt(statement, 'CreatePolicyStmt'), definition) ? statement : undefined
    case 'statistics': {
      const { defnames, relations, if_not_exists } = treeAt(statement, 'CreateStatsStmt')
      const [relation, ...others] = asList(relations).map((each) => treeAt(asTree(each), 'RangeVar'))
      const isThisOne = onlyName(defnames) === definition.name && isTable(relation, definition.table)
      return isThisOne && others.length === 0 && !if_not_exists ? statement : undefined
    }
  }
}

const OBJECT_TYPES = {
  operator: 'OBJECT_OPERATOR',
  collation: 'OBJECT_COLLATION',
  'text search dictionary': 'OBJECT_TSDICTIONARY',
} as const

function takeQuery({ query, withCheckOption }: Tree): Tree | undefined {
  const { intoClause } = treeAt({ query }, 'query', 'SelectStmt')
  const isQuery = Object.hasOwn(asTree(query), 'SelectStmt') && intoClause === undefined
  return isQuery && withCheckOption === 'NO_CHECK_OPTION' ? asTree(query) : undefined
}

function isFunction(statement: Tree, { name, kind }: Extract<ObjectDefinition, { form: 'function' }>): boolean {
  if (kind === 'aggregate') {
    const { kind: what, defnames } = treeAt(statement, 'DefineStmt')
    return what === 'OBJECT_AGGREGATE' && onlyName(defnames) === name
  }
  const { funcname, is_procedure } = treeAt(statement, 'CreateFunctionStmt')
  return onlyName(funcname) === name && (is_procedure === true) === (kind === 'procedure')
}

/** Roles are of the server, not of the stage: only everybody can be named. */
function isPolicy({ policy_name, table, roles }: Tree, definition: { name: string; table: string }): boolean {
  const types = asList(roles).map((role) => roleTypeOf(treeAt(asTree(role), 'RoleSpec')))
  const isForEverybody = types.every((type) => type === 'ROLESPEC_PUBLIC')
  return policy_name === definition.name && isTable(table, definition.table) && isForEverybody
}

const roleTypeOf = ({ roletype }: Tree): unknown => roletype

function isTable(relation: unknown, table: string): boolean {
  const { relname, schemaname } = asTree(relation)
  return relname === table && schemaname === undefined
}

/** The name of a list that has a single one; undefined for any other. */
function onlyName(names: unknown): string | undefined {
  const [first, ...others] = asList(names)
  const { sval } = treeAt(asTree(first), 'String')
  return others.length === 0 && typeof sval === 'string' ? sval : undefined
}
