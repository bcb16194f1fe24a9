import type { Database } from '../database/database.ts'
import { quoteIdentifier } from '../database/quoting.ts'
import { sqlState } from '../database/sqlstate.ts'

/** Where extensions are that Wharf's own login has made; every project may use them, and none may make anything there. */
export const EXTENSIONS_SCHEMA = 'extensions'

interface Found {
  readonly installed: boolean
  /** Null where the server does not have its files. */
  readonly trusted: boolean | null
  /** Where it has to be, by itself. */
  readonly schema: string | null
}

/**
 * Makes sure that an extension is there, for all projects: it is made by Wharf's own login where it is not.
 *
 * @param allowed the names of those that may be made; undefined for those that PostgreSQL trusts, which any owner of a
 *   database may have.
 * @returns why it is not there; undefined where it is.
 */
export async function ensureExtension(
  { prisma }: Database,
  name: string,
  allowed: readonly string[] | undefined,
): Promise<string | undefined> {
  const [found] = await prisma.$queryRaw<Found[]>`
    SELECT EXISTS (SELECT FROM pg_extension WHERE extname = ${name}) AS installed, version.trusted, version.schema::text
    FROM (SELECT) one LEFT JOIN (
      pg_available_extensions available JOIN pg_available_extension_versions version
      ON version.name = available.name AND version.version = available.default_version
    ) ON available.name = ${name}`
  if (found?.installed) return undefined
  if (!found || found.trusted === null)
    return `the database server does not have the extension "${name}": its operator has to install it`
  if (!(allowed?.includes(name) ?? found.trusted)) {
    return `the extension "${name}" is not among those that the operator allows (WHARF_EXTENSIONS)`
  }
  try {
    await makeExtension(prisma, name, found.schema)
    return undefined
  } catch (error) {
    if (sqlState(error) === undefined) throw error
    return `the extension "${name}" cannot be made by Wharf's own login: the operator makes it (CREATE EXTENSION), as a superuser`
  }
}

/** @param ownSchema where it has to be; null for any. */
async function makeExtension(prisma: Database['prisma'], name: string, ownSchema: string | null): Promise<void> {
  const schema = quoteIdentifier(EXTENSIONS_SCHEMA)
  await prisma.$transaction(async (tx) => {
    // Several scripts can need it at the same time.
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('wharf extensions'))`
    if (ownSchema === null) {
      await tx.$executeRawUnsafe(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
      await tx.$executeRawUnsafe(`GRANT USAGE ON SCHEMA ${schema} TO PUBLIC`)
    }
    const where = ownSchema === null ? ` SCHEMA ${schema}` : ''
    await tx.$executeRawUnsafe(`CREATE EXTENSION IF NOT EXISTS ${quoteIdentifier(name)}${where}`)
  })
}
