import { asList, asTree, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import { EXTENSIONS_SCHEMA } from '../../contract/extensions-schema.ts'
import { textsOf } from './parse-statement.ts'

/** Whose dump is loaded into what. */
export interface DumpTarget {
  /** The schema of the dump that becomes the stage. */
  readonly schema: string
  /** The login that everything is to belong to. */
  readonly login: string
}

/** Settings of the session at the beginning of a dump; those that decide how it is read are not among them. */
const SESSION_SETTINGS: ReadonlySet<unknown> = new Set([
  ...(['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout'] as const),
  ...(['client_min_messages', 'escape_string_warning', 'default_tablespace'] as const),
  ...(['default_table_access_method', 'default_with_oids', 'session_authorization'] as const),
])

/**
 * What a statement of a dump is where it says something about the server that the dump is from, and nothing about the
 * stage: who owns what, and how the session is set.
 *
 * @returns in SQL's words, e.g. `OWNER TO`; undefined for a statement that is to be run.
 */
export function passedOverAs(tree: Tree, target: DumpTarget): string | undefined {
  const [[kind, value] = ['', undefined]] = Object.entries(tree)
  return KINDS[kind]?.(asTree(value), target)
}

const KINDS: Readonly<Record<string, (node: Tree, target: DumpTarget) => string | undefined>> = {
  VariableSetStmt: ({ name }) => (SESSION_SETTINGS.has(name) ? `SET ${String(name)}` : undefined),
  SelectStmt: (node) => (emptiesSearchPath(node) ? 'SET search_path' : undefined),
  AlterOwnerStmt: () => 'OWNER TO',
  AlterTableStmt: ({ cmds }) => {
    const subtypes = asList(cmds).map((command) => treeAt(asTree(command), 'AlterTableCmd').subtype)
    return subtypes.length === 1 && subtypes[0] === 'AT_ChangeOwner' ? 'OWNER TO' : undefined
  },
  AlterDefaultPrivilegesStmt: () => 'ALTER DEFAULT PRIVILEGES',
  GrantRoleStmt: ({ is_grant: isGrant }) => (isGrant ? 'GRANT' : 'REVOKE'),
  GrantStmt: (node, target) =>
    isForOthers(node, target) || IS_OUTSIDE.has(node.objtype) ? (node.is_grant ? 'GRANT' : 'REVOKE') : undefined,
  // Every database has it.
  CreateExtensionStmt: ({ extname }) => (extname === 'plpgsql' ? 'CREATE EXTENSION plpgsql' : undefined),
  CreateSchemaStmt: ({ schemaname, schemaElts }, { schema }) =>
    (schemaname === schema || schemaname === EXTENSIONS_SCHEMA) && schemaElts === undefined
      ? 'CREATE SCHEMA'
      : undefined,
  CommentStmt: ({ objtype, object }, { schema }) => {
    if (objtype === 'OBJECT_EXTENSION') return 'COMMENT ON EXTENSION'
    const { sval } = treeAt(asTree(object), 'String')
    return objtype === 'OBJECT_SCHEMA' && (sval === schema || sval === EXTENSIONS_SCHEMA)
      ? 'COMMENT ON SCHEMA'
      : undefined
  },
}

/** `SELECT pg_catalog.set_config('search_path', '', false)`: every name of the dump has its schema. */
function emptiesSearchPath({ targetList, fromClause }: Tree): boolean {
  const [target, another] = asList(targetList)
  const call = treeAt(asTree(target), 'ResTarget', 'val', 'FuncCall')
  const [name, value] = asList(call.args).map((argument) => treeAt(asTree(argument), 'A_Const', 'sval').sval)
  return (
    another === undefined &&
    fromClause === undefined &&
    textsOf(call.funcname).at(-1) === 'set_config' &&
    name === 'search_path' &&
    value === ''
  )
}

/** What is not in a stage. */
const IS_OUTSIDE: ReadonlySet<unknown> = new Set([
  'OBJECT_SCHEMA',
  'OBJECT_DATABASE',
  'OBJECT_TABLESPACE',
  'OBJECT_LANGUAGE',
])

/** Whether rights are given to, or taken from, anybody but the project's own login and PUBLIC. */
const isForOthers = ({ grantees }: Tree, { login }: DumpTarget): boolean =>
  asList(grantees).some((grantee) => {
    const { roletype, rolename } = treeAt(asTree(grantee), 'RoleSpec')
    return roletype !== 'ROLESPEC_PUBLIC' && !(roletype === 'ROLESPEC_CSTRING' && rolename === login)
  })
