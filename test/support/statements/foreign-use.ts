import { parseSync } from 'libpg-query'

/** Where Wharf's own logins may read and call things: PostgreSQL's own schemas, Wharf's, BullMQ's. */
const OWN_SCHEMAS: ReadonlySet<string> = new Set([
  'pg_catalog',
  'information_schema',
  'control',
  'system',
  'wharf',
  'bullmq',
  'wharf_start',
])

/** The table that the migrations are listed in. */
const OWN_RELATIONS: ReadonlySet<string> = new Set(['public._prisma_migrations'])

/** Functions that run SQL that is given to them, or read a table that is named to them. */
const RUNS_TEXT =
  /^(query|table|cursor|schema|database)_to_xml|^ts_(stat|rewrite)$|^currtid2$|^lo_|^dblink|^pg_(prewarm|read_)|^brin_|^gin_clean/

/** Functions of Wharf's that are for the logins of projects: they alter tables, or read what a statement changed. */
const FOR_PROJECTS: ReadonlySet<string> = new Set(['wharf.log_tables', 'wharf.log_rows', 'wharf.log_statement'])

/**
 * Statements that name no relation to be read, or whose kind src/projects/project-objects.ts gives the reason for.
 * Whatever is not here, nor in `READING`, is not known to be safe.
 */
const NAMING = new Set([
  ...['CreateSchemaStmt', 'DropOwnedStmt', 'LockStmt', 'AlterOwnerStmt'],
  // Its script is of the server's own files, and in a schema where only Wharf's login makes anything.
  'CreateExtensionStmt',
  ...['CreateRoleStmt', 'AlterRoleStmt', 'DropRoleStmt', 'GrantStmt', 'GrantRoleStmt'],
  // They run in the shared database, and look at nothing in the one that they are about.
  ...['CreatedbStmt', 'AlterDatabaseStmt', 'DropdbStmt'],
  ...['TransactionStmt', 'ListenStmt', 'UnlistenStmt', 'NotifyStmt', 'ConstraintsSetStmt', 'DeallocateStmt'],
  ...['FetchStmt', 'ClosePortalStmt', 'VariableShowStmt', 'DiscardStmt'],
])

/** Statements whose relations, functions and types are all looked at. */
const READING = new Set([
  ...['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt', 'CopyStmt', 'DeclareCursorStmt', 'PrepareStmt'],
])

/**
 * What a statement of Wharf's own login reads or calls that is not Wharf's own, in words; nothing where it is all its
 * own. Names without a schema are found in `pg_catalog`, or are the queue's where it is BullMQ that asks: the sessions'
 * `search_path` says so.
 *
 * @param sql one statement, or several, in PostgreSQL's own grammar.
 * @param builds whether its session makes tables and functions of Wharf's or BullMQ's own: any kind of statement will do.
 */
export function foreignUse(sql: string, { builds = false }: { readonly builds?: boolean } = {}): readonly string[] {
  const statements = parsed(sql)
  if (statements === undefined) return ['it cannot be parsed']
  return statements.flatMap((statement) => foreignUseOf(statement, builds))
}

type Tree = Readonly<Record<string, unknown>>

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value)

function parsed(sql: string): readonly Tree[] | undefined {
  try {
    return (parseSync(sql).stmts ?? []).flatMap(({ stmt }) => (isTree(stmt) ? [stmt] : []))
  } catch {
    return undefined
  }
}

function foreignUseOf(statement: Tree, builds: boolean): readonly string[] {
  const [kind = ''] = Object.keys(statement)
  const body = statement[kind]
  if (!isTree(body)) return [`${kind} is not understood`]
  if (builds) return foreignNames(statement, builds)
  if (NAMING.has(kind)) return kind === 'LockStmt' ? foreignLocks(body) : []
  if (kind === 'AlterTableStmt') return givesAway(body) ? [] : ['it alters a table']
  if (ABOUT_SCHEMAS.has(kind)) return isAboutSchemas(body) ? [] : [`${kind} of no schema`]
  if (kind === 'VariableSetStmt') return foreignSetting(body)
  if (READING.has(kind)) return foreignNames(statement, builds)
  return [`${kind} is not among what Wharf's own login does`]
}

/** Tables of stages are locked, and never in a mode that keeps readers out. */
const foreignLocks = ({ mode }: Tree): readonly string[] =>
  typeof mode === 'number' && mode <= SHARE ? [] : ['it locks a table against readers']

/** As PostgreSQL numbers the modes of LOCK TABLE. */
const SHARE = 5

/** Statements that may be about a whole schema, and about nothing in one. */
const ABOUT_SCHEMAS = new Set(['RenameStmt', 'DropStmt', 'CommentStmt'])

const isAboutSchemas = ({ renameType, removeType, objectType, objtype }: Tree): boolean =>
  (renameType ?? removeType ?? objectType ?? objtype) === 'OBJECT_SCHEMA'

/** `ALTER TABLE … OWNER TO`, and nothing else. */
const givesAway = ({ cmds }: Tree): boolean =>
  Array.isArray(cmds) &&
  cmds.every(
    (cmd: unknown) => isTree(cmd) && isTree(cmd.AlterTableCmd) && cmd.AlterTableCmd.subtype === 'AT_ChangeOwner',
  )

/** `SET role = 'none'` is what a session begins with. */
const foreignSetting = ({ name, args }: Tree): readonly string[] =>
  /^(role|session_authorization)$/.test(String(name)) && !JSON.stringify(args).includes('{"sval":"none"}')
    ? ['it becomes another login']
    : []

function foreignNames(statement: Tree, builds: boolean): readonly string[] {
  const known = new Set<string>()
  walk(statement, (kind, node) => {
    if (kind === 'CommonTableExpr') known.add(String(node.ctename))
  })
  const found: string[] = []
  walk(statement, (kind, node) => {
    found.push(...foreignNode(kind, node, { known, builds }))
  })
  return found
}

interface Scope {
  /** Names of common table expressions. */
  readonly known: ReadonlySet<string>
  readonly builds: boolean
}

function foreignNode(kind: string, node: Tree, { known, builds }: Scope): readonly string[] {
  if (kind === 'RangeVar' || kind === 'relation' || kind === 'into') return foreignRelation(node, known, builds)
  if (kind === 'FuncCall') return foreignName('the function', namesOf(node.funcname), builds)
  if (kind === 'TypeName' || kind === 'typeName') return foreignName('the type', namesOf(node.names), builds)
  if (kind === 'A_Expr') return foreignName('the operator', namesOf(node.name), builds)
  if (kind === 'CollateClause') return foreignName('the collation', namesOf(node.collname), builds)
  return []
}

function foreignRelation(
  { schemaname, relname }: Tree,
  known: ReadonlySet<string>,
  builds: boolean,
): readonly string[] {
  if (typeof relname !== 'string') return []
  if (schemaname === undefined) {
    return builds || known.has(relname) || /^pg_/.test(relname) ? [] : [`the relation ${relname}`]
  }
  const name = `${String(schemaname)}.${relname}`
  return OWN_SCHEMAS.has(String(schemaname)) || OWN_RELATIONS.has(name) ? [] : [`the relation ${name}`]
}

function foreignName(what: string, names: readonly string[], builds: boolean): readonly string[] {
  const name = names.join('.')
  const [schema] = names.length > 1 ? names : ['pg_catalog']
  const isOwn = schema !== undefined && OWN_SCHEMAS.has(schema)
  const runsText = what === 'the function' && !builds && RUNS_TEXT.test(names.at(-1) ?? '')
  return isOwn && !runsText && !FOR_PROJECTS.has(name) ? [] : [`${what} ${name}`]
}

const namesOf = (list: unknown): readonly string[] =>
  (Array.isArray(list) ? list : []).flatMap((item: unknown) =>
    isTree(item) && isTree(item.String) ? [String(item.String.sval)] : [],
  )

/** Calls `look` with every node of a syntax tree, and what it is called. */
function walk(value: unknown, look: (kind: string, node: Tree) => void): void {
  if (Array.isArray(value)) for (const item of value) walk(item, look)
  if (!isTree(value)) return
  for (const [kind, child] of Object.entries(value)) {
    // FOR SHARE OF names what FROM has named already.
    if (kind === 'LockingClause') continue
    if (isTree(child)) look(kind, child)
    walk(child, look)
  }
}
