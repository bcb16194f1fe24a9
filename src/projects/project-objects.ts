import { quoteIdentifier, quoteLiteral, quoteQualified } from '../database/quoting.ts'

/*
 * All that Wharf's own logins do to what is a project's. None of it reads a row, evaluates an expression or calls a
 * function of the project's own. The only code that PostgreSQL runs because of such statements are event triggers, which
 * nobody but a superuser of the cluster can make.
 */

/** Makes a schema for a project. Nothing of the project's is in it yet. */
export const createSchema = (name: string, login: string): string =>
  `CREATE SCHEMA ${quoteIdentifier(name)} AUTHORIZATION ${quoteIdentifier(login)}`

/**
 * Makes a schema of Wharf's own, in which a project's login may make things until `closeSchema`. What it makes is the
 * project's.
 */
export const openSchema = (name: string, login: string): readonly string[] => [
  `CREATE SCHEMA ${quoteIdentifier(name)}`,
  reopenSchema(name, login),
]

/** Lets a project's login go on in a schema of `openSchema` that was closed. */
export const reopenSchema = (name: string, login: string): string =>
  `GRANT USAGE, CREATE ON SCHEMA ${quoteIdentifier(name)} TO ${quoteIdentifier(login)}`

/** Keeps a project's login from naming anything in a schema of `openSchema`, even what it has made there. */
export const closeSchema = (name: string, login: string): string =>
  `REVOKE ALL ON SCHEMA ${quoteIdentifier(name)} FROM ${quoteIdentifier(login)}`

/** Gives a schema of `openSchema` to a project: one row of `pg_namespace` changes. */
export const giveSchema = (name: string, login: string): string =>
  `ALTER SCHEMA ${quoteIdentifier(name)} OWNER TO ${quoteIdentifier(login)}`

/**
 * Gives an object of a project to the project's login, after a dump was restored while that was missing: PostgreSQL gives
 * everything to the login that restores then.
 *
 * @param kind `TABLE`, `TYPE` and so on. @param identity its name with its schema, quoted as `pg_identify_object` gives it.
 */
export const giveObject = (kind: string, identity: string, login: string): string =>
  `ALTER ${kind} ${identity} OWNER TO ${quoteIdentifier(login)}`

/** Says of a schema of `openSchema` what it is for. @param comment null for none. */
export const commentOnSchema = (name: string, comment: string | null): string =>
  `COMMENT ON SCHEMA ${quoteIdentifier(name)} IS ${comment === null ? 'NULL' : quoteLiteral(comment)}`

/** Gives a schema another name: one row of `pg_namespace` changes, and nothing that is in the schema is looked at. */
export const renameSchema = (name: string, newName: string): string =>
  `ALTER SCHEMA ${quoteIdentifier(name)} RENAME TO ${quoteIdentifier(newName)}`

/**
 * Drops a schema with all that is in it, and what elsewhere depends on that. Dropping deletes rows of the catalogs, and
 * files; it fires no trigger of a table. Its owner may have dropped the schema before.
 */
export const dropSchema = (name: string): string => `DROP SCHEMA IF EXISTS ${quoteIdentifier(name)} CASCADE`

/** Drops all that a login owns in this database, as `dropSchema` does, and takes back what it was granted. */
export const dropOwned = (login: string): string => `DROP OWNED BY ${quoteIdentifier(login)} CASCADE`

/**
 * Keeps everybody from writing to tables, and lets all read, until the transaction ends. Where the project puts a view in
 * the place of a table, PostgreSQL locks what the view is on, if the view's owner may, and evaluates nothing.
 */
export const lockAgainstWriters = (tables: readonly { readonly schema: string; readonly name: string }[]): string =>
  `LOCK TABLE ${tables.map(({ schema, name }) => `ONLY ${quoteQualified(schema, name)}`).join(', ')} IN SHARE MODE`
