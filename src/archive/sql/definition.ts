import { asList, asTree, type Grammar, type Tree, treeAt } from './grammar.ts'
import {
  describeObject,
  isObjectDefinition,
  type ObjectDefinition,
  objectStatement,
  takeObject,
} from './object-definition.ts'
import { findReach } from './reach.ts'
import { findScanFault, TOO_DEEP } from './scan-sql.ts'

/**
 * How deep a tree may be, in objects and lists: what compares two trees calls itself for each level, and runs out of stack
 * at four times as many. An operator takes two levels, a call of a function three or four.
 */
const MAX_DEPTH = 1_000

export type ConstraintKind = 'primary key' | 'unique' | 'check' | 'foreign key' | 'exclusion'

/** What a text of SQL in an archive is, and on what. Names are unquoted. */
export type Definition =
  | { readonly form: 'type' }
  | { readonly form: 'expression' }
  | { readonly form: 'constraint'; readonly kind: ConstraintKind; readonly references?: string }
  | { readonly form: 'domain check' }
  /** `only`: of a partitioned table, without its partitions. */
  | { readonly form: 'index'; readonly name: string; readonly table: string; readonly only?: boolean }
  | { readonly form: 'partition key' }
  | { readonly form: 'partition bound' }
  | ObjectDefinition

/**
 * Makes sure, by PostgreSQL's own grammar, that a text is what it should be and nothing else: one type, one expression,
 * one constraint, one partition key or bound, or one statement that makes this index on this table, or this object. It
 * reaches nothing outside of the stage and PostgreSQL's own schemas, and calls nothing that acts instead of giving a
 * value, except in objects: a function's body can do what the project's login may, whatever it looks like.
 *
 * @returns what is wrong, for a message that does not quote the text; undefined if nothing is.
 */
export function findDefinitionFault(grammar: Grammar, text: string, definition: Definition): string | undefined {
  const fault = findScanFault(text, scanOptions(definition))
  if (fault !== undefined) return fault
  const parsed = parseDefinition(grammar, text, definition)
  if (parsed === undefined) return `must be ${describe(definition)}, and nothing else`
  return isDeeperThan(parsed, MAX_DEPTH) ? TOO_DEEP : findReach(parsed, { mayAct: isObjectDefinition(definition) })
}

/** The tree of a text; undefined where that is something else, or more, or is too large or too deep to be compared. */
export function toParsedDefinition(grammar: Grammar, text: string, definition: Definition): Tree | undefined {
  if (findScanFault(text, scanOptions(definition)) !== undefined) return undefined
  const parsed = parseDefinition(grammar, text, definition)
  return parsed === undefined || isDeeperThan(parsed, MAX_DEPTH) ? undefined : parsed
}

/** Bodies of functions are quoted by dollars, or have statements in them; a rule can have several statements. */
const scanOptions = ({ form }: Definition) => ({ mayHaveBody: form === 'function' || form === 'rule' })

function parseDefinition(grammar: Grammar, text: string, definition: Definition): Tree | undefined {
  const whole = isObjectDefinition(definition)
    ? objectStatement(text, definition)
    : `${STATEMENTS[definition.form]}${text}`
  const [statement = {}, ...others] = grammar.parse(whole) ?? []
  return others.length === 0 ? takeDefinition(statement, definition) : undefined
}

/** What makes a statement of a text, before it. */
const STATEMENTS: Readonly<Record<Exclude<Definition, ObjectDefinition>['form'], string>> = {
  type: 'ALTER TABLE t ADD COLUMN c ',
  expression: 'ALTER TABLE t ALTER COLUMN c SET DEFAULT ',
  constraint: 'ALTER TABLE t ADD CONSTRAINT c ',
  'domain check': 'ALTER DOMAIN t ADD CONSTRAINT c ',
  index: '',
  'partition key': 'CREATE TABLE t (c integer) PARTITION BY ',
  'partition bound': 'ALTER TABLE t ATTACH PARTITION c ',
}

const CONSTRAINT_TYPES: Readonly<Record<ConstraintKind, string>> = {
  'primary key': 'CONSTR_PRIMARY',
  unique: 'CONSTR_UNIQUE',
  check: 'CONSTR_CHECK',
  'foreign key': 'CONSTR_FOREIGN',
  exclusion: 'CONSTR_EXCLUSION',
}

function describe(definition: Definition): string {
  switch (definition.form) {
    case 'type':
      return 'one type'
    case 'expression':
      return 'one expression'
    case 'constraint':
      return definition.references === undefined
        ? `one ${definition.kind} constraint`
        : `one foreign key constraint that refers to table "${definition.references}"`
    case 'domain check':
      return 'one check constraint'
    case 'index':
      return `one CREATE INDEX of index "${definition.name}" on table "${definition.table}"`
    case 'partition key':
      return 'one partition key'
    case 'partition bound':
      return "one partition's bound"
    default:
      return describeObject(definition)
  }
}

/** @returns what the text was parsed to; undefined where the statement is more than that, or something else. */
function takeDefinition(statement: Tree, definition: Definition): Tree | undefined {
  switch (definition.form) {
    case 'type':
      return takeType(statement)
    case 'expression': {
      const { subtype, def } = onlyCommand(statement)
      return subtype === 'AT_ColumnDefault' && def !== undefined ? { def } : undefined
    }
    case 'constraint': {
      const { subtype, def } = onlyCommand(statement)
      if (subtype !== 'AT_AddConstraint') return undefined
      return takeConstraint(treeAt({ def }, 'def', 'Constraint'), definition)
    }
    case 'domain check': {
      const { subtype, def } = treeAt(statement, 'AlterDomainStmt')
      if (subtype !== 'C') return undefined
      return takeConstraint(treeAt({ def }, 'def', 'Constraint'), { kind: 'check' })
    }
    case 'index':
      return takeIndex(treeAt(statement, 'IndexStmt'), definition)
    case 'partition key':
      return takePartitionKey(treeAt(statement, 'CreateStmt'))
    case 'partition bound':
      return takePartitionBound(statement)
    default:
      return takeObject(statement, definition)
  }
}

/** The command of an ALTER TABLE; an empty one where it has several, or the statement is another. */
function onlyCommand(statement: Tree): Tree {
  const { cmds } = treeAt(statement, 'AlterTableStmt')
  const [first, ...others] = asList(cmds)
  return others.length === 0 ? treeAt({ first }, 'first', 'AlterTableCmd') : {}
}

function takeType(statement: Tree): Tree | undefined {
  const { subtype, def } = onlyCommand(statement)
  if (subtype !== 'AT_AddColumn') return undefined
  const { colname, typeName, is_local, location, ...more } = treeAt({ def }, 'def', 'ColumnDef')
  const { setof, pct_type } = treeAt({ typeName }, 'typeName')
  // SETOF, and the type of another column.
  const isMore = Object.keys(more).length > 0 || setof === true || pct_type === true
  return isMore || typeName === undefined ? undefined : { TypeName: typeName }
}

function takeConstraint(
  constraint: Tree,
  { kind, references }: { readonly kind: ConstraintKind; readonly references?: string },
): Tree | undefined {
  // An index or a tablespace that is there already.
  const { contype, indexname, indexspace } = constraint
  if (contype !== CONSTRAINT_TYPES[kind] || indexname !== undefined || indexspace !== undefined) return undefined
  const { relname } = treeAt(constraint, 'pktable')
  const isElsewhere = references !== undefined && relname !== references
  return isElsewhere ? undefined : constraint
}

type IndexDefinition = Extract<Definition, { readonly form: 'index' }>

function takeIndex(index: Tree, { name, table, only = false }: IndexDefinition): Tree | undefined {
  const { idxname, relation, concurrent, if_not_exists, tableSpace } = index
  const { relname, inh } = treeAt({ relation }, 'relation')
  const isThisOne = idxname === name && relname === table && (inh === true) === !only
  return isThisOne && !concurrent && !if_not_exists && tableSpace === undefined ? index : undefined
}

/** Without what may follow a partition key: storage parameters, an access method, a tablespace. */
function takePartitionKey({ partspec, relation, tableElts, oncommit, ...more }: Tree): Tree | undefined {
  return partspec === undefined || Object.keys(more).length > 0 ? undefined : asTree(partspec)
}

function takePartitionBound(statement: Tree): Tree | undefined {
  const { subtype, def } = onlyCommand(statement)
  const { bound } = treeAt({ def }, 'def', 'PartitionCmd')
  return subtype === 'AT_AttachPartition' && bound !== undefined ? asTree(bound) : undefined
}

/** Whether more than `limit` objects and lists of a value are one inside the other. */
function isDeeperThan(value: unknown, limit: number): boolean {
  // Not by recursion: a tree may be deeper than the stack.
  let level = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limit) return true
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
  return false
}
