import type pg from 'pg'
import { askTogether, runTogether } from '../../database/ask-together.ts'
import type { Database } from '../../database/database.ts'
import { nameSession } from '../../database/session-name.ts'
import { openSingleUseSession } from '../../database/single-use-session.ts'
import type { ProjectDatabase } from '../../projects/stage-database.ts'
import { searchStage } from '../../projects/stage-path.ts'
import { loadFailure } from './load-failure.ts'

export interface SessionOptions {
  /** Ends the session, together with the statement that runs in it. */
  readonly signal: AbortSignal
  /** What PostgreSQL calls it (`application_name`), so that others can find and end it. */
  readonly sessionName?: string | undefined
}

/**
 * A session of a project's own login, which is used once: for one transaction, or for several one after the other, which loads
 * into one schema.
 */
export interface LoadingSession {
  readonly client: pg.PoolClient
  /** Looked into behind the schema that is loaded. */
  readonly extensionSchemas: readonly string[]
  /** Runs one statement; a text of several is refused, so that SQL from a file cannot smuggle in another. */
  execute(statement: string): Promise<void>
  /** Runs statements one after the other, up to the first that fails; each as `execute` does. */
  executeAll(statements: readonly string[]): Promise<void>
  query<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>
  commit(): Promise<void>
  /** Commits what was done so far, and begins another transaction. @param meanwhile runs between the two. */
  goOn(meanwhile: () => Promise<void>): Promise<void>
  /** Undoes everything and ends the session; does nothing after `commit`. */
  rollback(): void
}

/** Nobody else sees what is loaded beside; but the schema, or a type of another, can be held. */
const LOCK_TIMEOUT = '10s'

/**
 * Opens a session, and a transaction in it.
 *
 * @param database as the project's own login sees it.
 * @param schemaName where names without a schema are looked up; behind it only in what extensions have.
 */
export async function openLoadingSession(
  {
    database,
    extensionSchemas,
  }: { readonly database: Pick<Database, 'pool'> } & Pick<ProjectDatabase, 'extensionSchemas'>,
  schemaName: string,
  { signal, sessionName }: SessionOptions,
): Promise<LoadingSession> {
  const { client, close } = await openSingleUseSession(database.pool, signal)
  const begin = `
    BEGIN;
    ${searchStage(schemaName, extensionSchemas)};
    SET LOCAL lock_timeout = '${LOCK_TIMEOUT}';
    SET LOCAL jit = off`
  try {
    if (sessionName !== undefined) await nameSession(client, sessionName)
    await client.query(begin)
  } catch (error) {
    close(new Error('the import did not begin', { cause: error }))
    throw error
  }

  return {
    client,
    extensionSchemas,
    async execute(statement) {
      await client.query({ text: statement, queryMode: 'extended' } as pg.QueryConfig)
    },
    executeAll: (statements) => runTogether(client, statements),
    query: askTogether(client),
    async commit() {
      await client.query('COMMIT')
      close()
    },
    async goOn(meanwhile) {
      await client.query('COMMIT')
      await meanwhile()
      await client.query(begin)
    },
    rollback: () => close(new Error('the import was given up')),
  }
}

/** @throws {AppError} what PostgreSQL says against the structure or its rows (`loadFailure`). */
export async function runAll(session: LoadingSession, statements: readonly string[]): Promise<void> {
  try {
    await session.executeAll(statements)
  } catch (error) {
    throw loadFailure(error)
  }
}
