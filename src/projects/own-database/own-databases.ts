import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { EXTENSIONS_SCHEMA } from '../../contract/extensions-schema.ts'
import { thenCommit, withClient } from '../../database/clients.ts'
import type { Database } from '../../database/database.ts'
import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import { openSession } from '../../database/session-client.ts'
import { SQLSTATE, sqlMessage, sqlState } from '../../database/sqlstate.ts'
import { conflict, databaseUnsuitable } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { createSchema, giveSchema } from '../project-objects.ts'
import { restoreOwnership } from '../restore-ownership.ts'

/** Databases that projects have for themselves, on the server of the shared one. */
export interface OwnDatabases {
  /** @throws {AppError} DATABASE_UNSUITABLE, naming the grant, where Wharf's login may not create databases. */
  assertMayMake(): Promise<void>
  /**
   * Makes a database in which a project's login may make schemas, and which no other project's login can enter.
   *
   * @param plan `login`: a role that there is; `schemas`: what it owns of it from the start. `public` is there by itself;
   *   `extensions`: made there by Wharf's own login, each after those that it needs.
   */
  make(plan: {
    readonly name: string
    readonly login: string
    readonly schemas: readonly string[]
    readonly extensions?: readonly NewExtension[]
  }): Promise<void>
  /**
   * Gives a database that was restored to a project's login again, and closes it to others.
   *
   * @param plan `schemas`: its stages'.
   * @returns who owns what Wharf's login may not give away; the rest was given.
   */
  restore(plan: {
    readonly name: string
    readonly login: string
    readonly schemas: readonly string[]
  }): Promise<readonly string[]>
  /**
   * Drops a database with all that is in it, where it is there. Sessions in it are ended.
   *
   * From 15 on, PostgreSQL waits until each of the server's processes has noticed, and one whose client reads nothing does
   * not: an export whose reader pauses is enough. Nobody can enter the database any more by then.
   *
   * @returns `begun` where that takes too long: to be dropped again, later.
   * @throws {AppError} CONFLICT where something keeps it that Wharf's login may not end.
   */
  drop(name: string): Promise<'dropped' | 'begun'>
}

/** An extension, and the schema that it is made in; undefined for one that says that itself. */
export interface NewExtension {
  readonly name: string
  readonly schema: string | undefined
}

/** How long a database may take to be dropped while somebody waits for it; shorter than a sweep may be silent. */
const DROP_LIMIT_MS = 10_000

export interface OwnDatabasesOptions {
  readonly logger: Logger
  /** How long PostgreSQL may take to drop one, in milliseconds. */
  readonly dropLimitMs?: number
}

/** @param control as Wharf's own login. @param databaseUrl of the shared database, as the same login. */
export function createOwnDatabases(
  { pool }: Pick<Database, 'pool'>,
  databaseUrl: string,
  { logger, dropLimitMs = DROP_LIMIT_MS }: OwnDatabasesOptions,
): OwnDatabases {
  /** Lets one login in, and no other. */
  const openTo = async (name: string, login: string): Promise<void> => {
    const database = quoteIdentifier(name)
    await pool.query(`REVOKE ALL ON DATABASE ${database} FROM PUBLIC`)
    await pool.query(`GRANT CREATE, CONNECT, TEMPORARY ON DATABASE ${database} TO ${quoteIdentifier(login)}`)
  }
  return {
    async assertMayMake() {
      const { rows } = await pool.query<{ login: string; may: boolean }>(
        'SELECT rolname::text AS login, rolcreatedb OR rolsuper AS may FROM pg_roles WHERE rolname = current_user',
      )
      const [row] = rows
      if (!row || row.may) return
      const missing = `ALTER ROLE ${quoteIdentifier(row.login)} CREATEDB`
      throw databaseUnsuitable(
        `Wharf's database login "${row.login}" may not create databases; a superuser grants it: ${missing}`,
        [{ detail: missing }],
      )
    },
    async make({ name, login, schemas, extensions = [] }) {
      const database = quoteIdentifier(name)
      const owner = quoteIdentifier(login)
      // Closed until others are kept out: who had connected before would stay.
      await pool.query(`CREATE DATABASE ${database} ${await likeShared(pool)} ALLOW_CONNECTIONS false`)
      await openTo(name, login)
      await pool.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`)
      const client = await openSession(urlOf(databaseUrl, name), { ...SESSION, logger })
      try {
        // While nothing of the project's is there that an extension's script could come upon.
        for (const extension of extensions) await createExtension(client, extension)
        // Before PostgreSQL 15, `public` is the superuser's, and everybody who comes in may make things there.
        const { rows } = await client.query<{ may: boolean }>(
          "SELECT pg_has_role(nspowner, 'USAGE') AS may FROM pg_namespace WHERE nspname = 'public'",
        )
        if (rows[0]?.may) await client.query(`ALTER SCHEMA public OWNER TO ${owner}`)
        for (const schema of schemas) if (schema !== 'public') await makeSchema(client, schema, login)
      } finally {
        await Promise.allSettled([client.end()])
      }
    },
    async restore({ name, login, schemas: staged }) {
      const { rows } = await pool.query<{ owner: string; may: boolean }>(
        "SELECT pg_get_userbyid(datdba)::text AS owner, pg_has_role(datdba, 'USAGE') AS may FROM pg_database WHERE datname = $1",
        [name],
      )
      const others = rows.filter(({ may }) => !may).map(({ owner }) => owner)
      if (others.length > 0) return others
      await openTo(name, login)
      const client = await openSession(urlOf(databaseUrl, name), { ...SESSION, logger })
      try {
        await client.query('BEGIN')
        return await thenCommit(client, async () => {
          const found = await client.query<{ name: string }>(SCHEMAS, [EXTENSIONS_SCHEMA, staged])
          const schemas = found.rows.map((schema) => schema.name)
          return restoreOwnership(
            async (sql, parameters = []) => (await client.query(sql, [...parameters])).rows,
            schemas,
            login,
          )
        })
      } finally {
        await Promise.allSettled([client.end()])
      }
    },
    async drop(name) {
      try {
        await withClient(pool, async (client) => {
          await client.query(`SET statement_timeout = ${dropLimitMs}`)
          await dropDatabase(client, name)
          await client.query('RESET statement_timeout')
        })
        return 'dropped'
      } catch (error) {
        const { rowCount } = await pool.query(BEING_DROPPED, [name])
        if (rowCount === 1) return 'begun'
        if (!KEPT.has(sqlState(error) ?? '')) throw error
        throw conflict(`the project's database cannot be dropped: ${sqlMessage(error)}; nothing was changed`)
      }
    },
  }
}

/**
 * With `FORCE`, PostgreSQL ends other sessions; but it refuses that to logins that may not end autovacuum, as soon as that is at
 * work there. Without, it ends autovacuum, and nobody else.
 */
async function dropDatabase(client: pg.ClientBase, name: string): Promise<void> {
  const drop = `DROP DATABASE IF EXISTS ${quoteIdentifier(name)}`
  for (let attempt = 1; ; attempt += 1) {
    try {
      return void (await client.query(`${drop} WITH (FORCE)`))
    } catch (error) {
      if (sqlState(error) !== SQLSTATE.insufficientPrivilege) throw error
      const { rowCount } = await client.query(SESSIONS_OF_LOGINS, [name])
      if (rowCount === 0) return void (await client.query(drop))
      if (attempt === MAX_ATTEMPTS) throw error
    }
    await delay(ATTEMPT_INTERVAL_MS)
  }
}

/** A session of somebody else's may just be ending: for a second, that is waited for. */
const MAX_ATTEMPTS = 10
const ATTEMPT_INTERVAL_MS = 100

/** Autovacuum has no login. */
const SESSIONS_OF_LOGINS = 'SELECT FROM pg_stat_activity WHERE datname = $1 AND usesysid IS NOT NULL'

type Session = Awaited<ReturnType<typeof openSession>>

async function createExtension(client: Session, { name, schema }: NewExtension): Promise<void> {
  if (schema !== undefined && !(await hasSchema(client, schema))) {
    await client.query(`CREATE SCHEMA ${quoteIdentifier(schema)}`)
    await client.query(`GRANT USAGE ON SCHEMA ${quoteIdentifier(schema)} TO PUBLIC`)
  }
  const where = schema === undefined ? '' : ` SCHEMA ${quoteIdentifier(schema)}`
  await client.query(`CREATE EXTENSION ${quoteIdentifier(name)}${where}`)
}

async function makeSchema(client: Session, schema: string, login: string): Promise<void> {
  const isThere = await hasSchema(client, schema)
  await client.query(isThere ? giveSchema(schema, login) : createSchema(schema, login))
}

const hasSchema = async (client: Session, name: string): Promise<boolean> =>
  (await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [name])).rowCount === 1

const SESSION = { kind: 'wharf', applicationName: 'wharf makes a database' } as const

/**
 * Sessions that Wharf's login may not end, transactions that were prepared, slots and subscriptions of replication, and
 * statements that hold it for as long as Wharf waits.
 */
const KEPT: ReadonlySet<string> = new Set([
  SQLSTATE.objectInUse,
  SQLSTATE.insufficientPrivilege,
  SQLSTATE.queryCanceled,
])

/**
 * What PostgreSQL writes as it begins to drop a database, from 14.9, 15.4 and 16 on: it can only be dropped then.
 *
 * @see https://www.postgresql.org/docs/current/catalog-pg-database.html (`datconnlimit`)
 */
const BEING_DROPPED = 'SELECT FROM pg_database WHERE datname = $1 AND datconnlimit = -2'

/** How a locale is named that is not of the system's library, by the letter that the catalog has for it. */
const PROVIDERS: Readonly<Record<string, string>> = {
  i: 'LOCALE_PROVIDER icu ICU_LOCALE',
  b: 'LOCALE_PROVIDER builtin BUILTIN_LOCALE',
}

/** The schemas of stages (`$2`), and those of Wharf's login, which makes none there but that of extensions (`$1`). */
const SCHEMAS = `
  SELECT nspname::text AS name FROM pg_namespace
   WHERE nspname = ANY ($2::text[]) OR nspowner = CURRENT_USER::regrole AND nspname <> $1 ORDER BY nspname`

/** The encoding and the locale of the shared database, so that text is ordered alike, and nothing else of any template. */
async function likeShared(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ database: Record<string, string | null> }>(
    'SELECT to_jsonb(pg_database) AS database FROM pg_database WHERE datname = current_database()',
  )
  const { datcollate, datctype, datlocprovider = 'c', daticulocale, datlocale } = rows[0]?.database ?? {}
  const libc = `LC_COLLATE ${quoteLiteral(datcollate ?? 'C')} LC_CTYPE ${quoteLiteral(datctype ?? 'C')}`
  const locale = quoteLiteral(datlocale ?? daticulocale ?? '')
  const provider = datlocprovider === 'c' ? '' : ` ${PROVIDERS[datlocprovider ?? '']} ${locale}`
  return `TEMPLATE template0 ENCODING 'UTF8' ${libc}${provider}`
}

function urlOf(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl)
  url.pathname = `/${encodeURIComponent(name)}`
  return url.href
}
