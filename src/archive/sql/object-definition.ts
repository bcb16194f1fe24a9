import { asList, asTree, type Tree, treeAt } from './grammar.ts'

/** What a text of SQL in the line of an object is. Names are unquoted. */
export type ObjectDefinition =
  /** The query of a view. */
  | { readonly form: 'query' }
  | { readonly form: 'function'; readonly name: string; readonly kind: FunctionKind }
  | { readonly form: ObjectOfTable; readonly name: string; readonly table: string }

export type FunctionKind = 'function' | 'procedure' | 'window' | 'aggregate'
type ObjectOfTable = 'trigger' | 'rule' | 'policy' | 'statistics'

/** What makes a statement of a text, before it. */
export const OBJECT_STATEMENTS: Readonly<Record<ObjectDefinition['form'], string>> = {
  query: 'CREATE VIEW v AS ',
  function: '',
  trigger: '',
  rule: '',
  policy: '',
  statistics: '',
}

export const isObjectDefinition = (definition: { readonly form: string }): definition is ObjectDefinition =>
  Object.hasOwn(OBJECT_STATEMENTS, definition.form)

/** What the text has to be, for a message. */
export function describeObject(definition: ObjectDefinition): string {
  switch (definition.form) {
    case 'query':
      return 'one query'
    case 'function':
      return `one statement that creates ${definition.kind} "${definition.name}"`
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
