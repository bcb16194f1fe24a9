import { quoteIdentifier, quoteQualified } from '../quoting.ts'
import { type ExaminedRelation, type ForeignObject, type LoginRights, saysMembership } from './login-rights.ts'

/**
 * How an import can come into a schema: `beside`, into a schema beside it that then takes its name; `object by object`,
 * each of which then changes its schema; `in place`, into the tables that are there.
 */
export type ImportMode = 'beside' | 'object by object' | 'in place' | 'no'

export interface Examined {
  readonly schema: string
  readonly rights: LoginRights
  readonly relations: readonly ExaminedRelation[]
  readonly objectsNotOwned: readonly ForeignObject[]
  readonly extensionsInSchema: readonly string[]
}

export interface Verdict {
  readonly reasons: readonly string[]
  /** The statements that somebody else has to run for it. */
  readonly missing: readonly string[]
}

/** It belongs to the owner of the database. Its rights and its comment come with every database, and would not come back. */
const PUBLIC = 'public'
const DATABASE_OWNER = 'pg_database_owner'

/** What the owner of a database may not do, as a comment in SQL. */
const BY_SUPERUSER = ' -- by a superuser'

/** How many names a sentence has. */
const MAX_NAMES = 5

/** Types of objects that statements call otherwise than `pg_identify_object` does. */
const IN_STATEMENTS: Readonly<Record<string, string>> = { 'statistics object': 'STATISTICS', 'composite type': 'TYPE' }

/** An empty list of reasons says that exports are possible. */
export function exportVerdict({ schema, rights, relations }: Examined): Verdict {
  const login = quoteIdentifier(rights.login)
  if (!rights.schemaExists) return { reasons: [`there is no schema ${schema}`], missing: [] }
  const reasons: string[] = []
  const missing: string[] = []
  if (!rights.mayUseSchema) {
    reasons.push(`${rights.login} may not use the schema ${schema}`)
    missing.push(`GRANT USAGE ON SCHEMA ${quoteIdentifier(schema)} TO ${login}`)
  }
  const unreadable = relations.filter(({ isReadable }) => !isReadable)
  if (unreadable.length > 0) {
    reasons.push(`${rights.login} may not read ${listed(unreadable.map(({ name }) => name))}`)
    missing.push(...readGrants(schema, relations, login))
  }
  const hidden = relations.filter(({ hidesRows }) => hidesRows)
  if (hidden.length > 0) {
    reasons.push(`row-level security hides rows of ${listed(hidden.map(({ name }) => name))} from ${rights.login}`)
    missing.push(`ALTER ROLE ${login} BYPASSRLS${BY_SUPERUSER}`)
  }
  return { reasons, missing }
}

/** One statement for all of a kind where none can be read. */
function readGrants(schema: string, relations: readonly ExaminedRelation[], login: string): readonly string[] {
  return (['TABLE', 'SEQUENCE'] as const).flatMap((kind) => {
    const ofKind = relations.filter((relation) => relation.kind === kind)
    const unreadable = ofKind.filter(({ isReadable }) => !isReadable)
    if (unreadable.length > 1 && unreadable.length === ofKind.length) {
      return [`GRANT SELECT ON ALL ${kind}S IN SCHEMA ${quoteIdentifier(schema)} TO ${login}`]
    }
    const names = unreadable.map(({ name }) => quoteQualified(schema, name))
    return names.length === 0 ? [] : [`GRANT SELECT ON ${kind} ${names.join(', ')} TO ${login}`]
  })
}

/** Says which way an import can take, why not a better one, and what that would need. */
export function importVerdict(examined: Examined): Verdict & { readonly mode: ImportMode } {
  const { schema, rights, relations, objectsNotOwned, extensionsInSchema } = examined
  const closed = closedToWrites(rights)
  if (closed) return { mode: 'no', ...closed }
  const createSchemas = {
    isMet: rights.mayCreateSchemas,
    reason: `${rights.login} may not create schemas in the database ${rights.database}`,
    missing: [`GRANT CREATE ON DATABASE ${quoteIdentifier(rights.database)} TO ${quoteIdentifier(rights.login)}`],
  }
  if (!rights.schemaExists)
    return createSchemas.isMet ? { mode: 'beside', ...NOTHING } : { mode: 'no', ...unmet([createSchemas]) }
  const owned = {
    isMet: objectsNotOwned.length === 0,
    reason: `others own ${listed(objectsNotOwned.map(({ identity }) => identity))}`,
    missing: [...new Set(objectsNotOwned.map((object) => ownership(object, rights)))],
  }
  const movable = [
    { isMet: rights.ownsSchema, reason: `${rights.login} does not own the schema ${schema}`, missing: [] },
    {
      isMet: schema !== PUBLIC && rights.schemaOwner !== DATABASE_OWNER,
      reason: `the schema ${schema} belongs to the database`,
      missing: [],
    },
    {
      isMet: extensionsInSchema.length === 0,
      reason: `the schema has extensions: ${listed(extensionsInSchema)}`,
      missing: [],
    },
  ]
  const createObjects = {
    isMet: rights.mayCreateInSchema,
    reason: `${rights.login} may not create anything in the schema ${schema}`,
    missing: [`GRANT CREATE ON SCHEMA ${quoteIdentifier(schema)} TO ${quoteIdentifier(rights.login)}`],
  }
  const useSchema = {
    isMet: rights.mayUseSchema,
    reason: `${rights.login} may not use the schema ${schema}`,
    missing: [`GRANT USAGE ON SCHEMA ${quoteIdentifier(schema)} TO ${quoteIdentifier(rights.login)}`],
  }
  const beside = unmet([createSchemas, owned, ...movable])
  if (beside.reasons.length === 0) return { mode: 'beside', ...NOTHING }
  const byObject = unmet([useSchema, createSchemas, createObjects, owned])
  // Nothing that anybody could grant makes the schema movable; why it is not is said nevertheless.
  if (byObject.reasons.length === 0) return { mode: 'object by object', reasons: beside.reasons, missing: [] }
  const canLoad = rights.mayUseSchema && relations.every(({ isMember }) => isMember)
  return { mode: canLoad ? 'in place' : 'no', ...byObject }
}

interface Need {
  readonly isMet: boolean
  readonly reason: string
  readonly missing: readonly string[]
}

const NOTHING: Verdict = { reasons: [], missing: [] }

function unmet(needs: readonly Need[]): Verdict {
  const open = needs.filter(({ isMet }) => !isMet)
  return { reasons: open.map(({ reason }) => reason), missing: open.flatMap(({ missing }) => missing) }
}

function closedToWrites({ login, database, isStandby, isReadOnly }: LoginRights): Verdict | undefined {
  if (isStandby) return { reasons: ['the server is a standby, which takes no writes'], missing: [] }
  if (!isReadOnly) return undefined
  const role = `${quoteIdentifier(login)} IN DATABASE ${quoteIdentifier(database)}`
  return {
    reasons: [`transactions of ${login} are read only (default_transaction_read_only)`],
    missing: [`ALTER ROLE ${role} SET default_transaction_read_only = off`],
  }
}

/** Nobody should become a member of a superuser for this. */
function ownership({ type, identity, owner, ownerIsSuperuser }: ForeignObject, rights: LoginRights): string {
  const login = quoteIdentifier(rights.login)
  const options = saysMembership(rights) ? ' WITH INHERIT TRUE, SET TRUE' : ''
  if (!ownerIsSuperuser) return `GRANT ${quoteIdentifier(owner)} TO ${login}${options}`
  const kind = IN_STATEMENTS[type] ?? type.toUpperCase()
  return `ALTER ${kind} ${identity} OWNER TO ${login}${BY_SUPERUSER}`
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ')
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown
}
