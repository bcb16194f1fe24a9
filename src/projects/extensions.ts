import { EXTENSIONS_SCHEMA } from '../contract/extensions-schema.ts'
import type { Database } from '../database/database.ts'
import { quoteIdentifier } from '../database/quoting.ts'
import { sqlMessage } from '../database/sqlstate.ts'

/** An extension as the database server knows it. */
export interface ExtensionState {
  /** The schema and the version of the one that is there; null where none is. */
  readonly schema: string | null
  readonly version: string | null
  /** Null where the server does not have its files. */
  readonly trusted: boolean | null
  /** The version that would be made. */
  readonly newVersion: string | null
  /** Where one that is made has to be, by itself. */
  readonly ownSchema: string | null
}

/** Looks an extension up. */
export async function readExtension({ prisma }: Database, name: string): Promise<ExtensionState> {
  const [found] = await prisma.$queryRaw<ExtensionState[]>`
    SELECT nspname::text AS schema, extversion AS version, available.trusted,
           available.version AS "newVersion", available.schema::text AS "ownSchema"
    FROM (SELECT) one
    LEFT JOIN (pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace) ON extname = ${name}
    LEFT JOIN (
      SELECT version.* FROM pg_available_extensions latest JOIN pg_available_extension_versions version
      ON version.name = latest.name AND version.version = latest.default_version
    ) available ON available.name = ${name}`
  return found ?? { schema: null, version: null, trusted: null, newVersion: null, ownSchema: null }
}

/**
 * Why an extension that is not there can't be made.
 *
 * @param allowed the names of those that may be made; undefined for those that PostgreSQL trusts, which any owner of a
 *   database may have.
 * @returns undefined where it can, as far as that is known.
 */
export function reasonAgainst(
  name: string,
  { trusted }: ExtensionState,
  allowed: readonly string[] | undefined,
): string | undefined {
  if (trusted === null)
    return `the database server does not have the extension "${name}": its operator has to install it`
  if (allowed?.includes(name) ?? trusted) return undefined
  return `the extension "${name}" is not among those that the operator allows (WHARF_EXTENSIONS)`
}

/**
 * Makes sure that an extension is there, for all projects: it is made by Wharf's own login where it is not.
 *
 * @param allowed as for `reasonAgainst`.
 * @returns why it is not there; undefined where it is.
 */
export async function ensureExtension(
  database: Database,
  name: string,
  allowed: readonly string[] | undefined,
): Promise<string | undefined> {
  const state = await readExtension(database, name)
  if (state.schema !== null) return undefined
  return reasonAgainst(name, state, allowed) ?? (await makeExtension(database, name, state))
}

/**
 * Makes an extension in a transaction of its own, in the version that the server has for it.
 *
 * @returns why it can't be made; undefined where it is there.
 */
export async function makeExtension(
  { prisma }: Database,
  name: string,
  { ownSchema }: Pick<ExtensionState, 'ownSchema'>,
): Promise<string | undefined> {
  const schema = quoteIdentifier(EXTENSIONS_SCHEMA)
  const where = ownSchema === null ? ` SCHEMA ${schema}` : ''
  try {
    await prisma.$transaction(async (tx) => {
      // Several scripts and imports can need it at the same time.
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('wharf extensions'))`
      const [{ missing } = { missing: false }] = await tx.$queryRaw<{ missing: boolean }[]>`
        SELECT to_regnamespace(${EXTENSIONS_SCHEMA}) IS NULL AS missing`
      if (ownSchema === null && missing) {
        await tx.$executeRawUnsafe(`CREATE SCHEMA ${schema}`)
        await tx.$executeRawUnsafe(`GRANT USAGE ON SCHEMA ${schema} TO PUBLIC`)
      }
      await tx.$executeRawUnsafe(`CREATE EXTENSION IF NOT EXISTS ${quoteIdentifier(name)}${where}`)
    })
    return undefined
  } catch (error) {
    const message = sqlMessage(error)
    if (message === undefined) throw error
    return (
      `the extension "${name}" cannot be made by Wharf's own login (${message}): the operator makes it, ` +
      `as a superuser (CREATE EXTENSION ${quoteIdentifier(name)}${where})`
    )
  }
}
