import {
  type CatalogQuery,
  type ForeignObject,
  type LoginRights,
  readExtensions,
  readForeignObjects,
  readLoginRights,
  readRelations,
} from './login-rights.ts'
import { exportVerdict, type ImportMode, importVerdict } from './login-verdicts.ts'

export interface ForeignTable {
  readonly name: string
  readonly owner: string
  /** Whether the login may do all that the owner may. */
  readonly isMember: boolean
}

/** What a login may do with a schema, and why not more. */
export interface LoginReport extends LoginRights {
  /** Tables and sequences that it may not read. */
  readonly tablesNotReadable: readonly string[]
  /** Tables of which policies would hide rows from it. */
  readonly tablesWithHiddenRows: readonly string[]
  /** Tables, sequences and materialized views that others own. */
  readonly tablesNotOwned: readonly ForeignTable[]
  /** All that it may not change or drop. */
  readonly objectsNotOwned: readonly ForeignObject[]
  /** Extensions that are, or have anything, in the schema. */
  readonly extensionsInSchema: readonly string[]
  readonly mayExport: boolean
  readonly mayImport: ImportMode
  /** Why not more is possible, in words. */
  readonly reasons: readonly string[]
  /** Those of them that keep exports from being made. */
  readonly reasonsNotToExport: readonly string[]
  /** The statements that would make it possible. Somebody else runs them. */
  readonly missing: readonly string[]
  /** Those of them that exports lack. */
  readonly missingToExport: readonly string[]
}

/** Reads from the catalogs alone what the login of a session may do with a schema. It writes nothing. */
export async function examineLogin(query: CatalogQuery, schema: string): Promise<LoginReport> {
  const rights = await readLoginRights(query, schema)
  const relations = await readRelations(query, schema)
  const objectsNotOwned = await readForeignObjects(query, schema, rights)
  const extensionsInSchema = await readExtensions(query, schema)
  const examined = { schema, rights, relations, objectsNotOwned, extensionsInSchema }
  const toExport = exportVerdict(examined)
  const toImport = importVerdict(examined)
  return {
    ...rights,
    tablesNotReadable: relations.filter(({ isReadable }) => !isReadable).map(({ name }) => name),
    tablesWithHiddenRows: relations.filter(({ hidesRows }) => hidesRows).map(({ name }) => name),
    tablesNotOwned: relations
      .filter(({ owner }) => owner !== rights.login)
      .map(({ name, owner, isMember }) => ({ name, owner, isMember })),
    objectsNotOwned,
    extensionsInSchema,
    mayExport: toExport.reasons.length === 0,
    mayImport: toImport.mode,
    reasons: [...toExport.reasons, ...toImport.reasons],
    reasonsNotToExport: toExport.reasons,
    missing: [...new Set([...toExport.missing, ...toImport.missing])],
    missingToExport: toExport.missing,
  }
}
