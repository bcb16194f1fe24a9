import type { Queryable } from '../database/database.ts'

/** What the server knows of names of roles. */
export interface KnownRoles {
  readonly existing: ReadonlySet<string>
  /** Logins of Wharf itself and of its projects. */
  readonly logins: ReadonlySet<string>
}

/** Looks up names of roles, which need not exist. */
export type FindRoles = (names: readonly string[]) => Promise<KnownRoles>

/** @param names of roles, which need not exist. */
export async function readRoles(control: Queryable, names: readonly string[]): Promise<KnownRoles> {
  const rows =
    names.length === 0
      ? []
      : await control.$queryRaw<{ name: string; login: boolean }[]>`
    SELECT rolname::text AS name, rolname = current_user OR EXISTS (
             SELECT FROM control.project WHERE project.login = rolname::text) AS login
    FROM pg_roles WHERE rolname = ANY (${names}::name[])`
  return {
    existing: new Set(rows.map(({ name }) => name)),
    logins: new Set(rows.filter(({ login }) => login).map(({ name }) => name)),
  }
}

/** The same in a database that is not Wharf's: no login there is. @param query in a session of that database. */
export async function readExternalRoles(
  query: (sql: string, parameters: readonly unknown[]) => Promise<readonly { readonly name: string }[]>,
  names: readonly string[],
): Promise<KnownRoles> {
  const sql = 'SELECT rolname::text AS name FROM pg_catalog.pg_roles WHERE rolname = ANY ($1::pg_catalog.name[])'
  const rows = names.length === 0 ? [] : await query(sql, [[...names]])
  return { existing: new Set(rows.map(({ name }) => name)), logins: new Set() }
}
