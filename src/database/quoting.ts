import pg from 'pg'

/**
 * Quotes a name for SQL.
 *
 * @see https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-IDENTIFIERS
 */
export function quoteIdentifier(name: string): string {
  if (name === '' || name.includes('\0')) throw new Error('a PostgreSQL name is not empty and has no NUL character')
  return pg.escapeIdentifier(name)
}

/** Quotes a name that stands in a schema. */
export const quoteQualified = (schema: string, name: string): string =>
  `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`

/** Quotes a string for the statements that take no parameters (CREATE ROLE, SET, DECLARE, ...). */
export const quoteLiteral = (text: string): string => pg.escapeLiteral(text)
