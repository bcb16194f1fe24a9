/** What is used of `pg`'s connection: all by which a session gets an unnamed statement, or loses it. */
interface Connection {
  parse(statement: { readonly name?: string; readonly text: string }, ...more: unknown[]): void
  query(text: string): void
}

/** By connection. */
const texts = new WeakMap<object, string>()

/**
 * Follows which unnamed statement a session has. No SQL can replace or remove that one, as it can all that have names: where a project's own
 * code has run, it is still what it was.
 *
 * A connection that is not followed has none that is known.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
export function followUnnamedStatement(connection: Connection): void {
  const { parse, query } = connection
  connection.parse = (statement, ...more) => {
    if (!statement.name) texts.set(connection, statement.text)
    parse.call(connection, statement, ...more)
  }
  connection.query = (text) => {
    texts.delete(connection)
    query.call(connection, text)
  }
}

export const hasUnnamedStatement = (connection: object, text: string): boolean => texts.get(connection) === text

/** To be called where PostgreSQL has refused something, and so has not even read what came behind it. */
export const forgetUnnamedStatement = (connection: object): void => void texts.delete(connection)
