import type pg from 'pg'
import { scramVerifier } from '../scram-verifier.ts'

/** Name of Wharf's own login and of its database. */
export const LOGIN = 'wharf'

/**
 * Makes Wharf's login, which is no superuser but may create roles, and the database that it owns, each where missing.
 *
 * @param client logged in as the superuser.
 */
export async function ensureWharfLogin(client: pg.Client, password: string): Promise<void> {
  const { rows } = await client.query<{ login: boolean; database: boolean; reserve: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS login,
            EXISTS (SELECT FROM pg_roles WHERE rolname = 'pg_use_reserved_connections') AS reserve,
            EXISTS (SELECT FROM pg_database WHERE datname = $1) AS database`,
    [LOGIN],
  )
  const found = rows[0]
  if (!found?.login) {
    await client.query(
      `CREATE ROLE ${LOGIN} LOGIN NOSUPERUSER CREATEROLE CREATEDB PASSWORD '${scramVerifier(password)}'`,
    )
  }
  // PostgreSQL 15, on which the benches may run, has no such role.
  if (found?.reserve) await client.query(`GRANT pg_use_reserved_connections TO ${LOGIN}`)
  if (!found?.database) await client.query(`CREATE DATABASE ${LOGIN} OWNER ${LOGIN}`)
}
