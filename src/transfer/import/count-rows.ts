import type { Transaction } from '../../database/database.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { sqlMessage } from '../../database/sqlstate.ts'
import { conflict } from '../../errors.ts'
import type { ProjectDatabase } from '../../projects/stage-database.ts'
import { searchStage } from '../../projects/stage-path.ts'
import type { Query } from '../structure/query.ts'

/** For how long the tables of a schema may be counted, in milliseconds. */
const MAX_COUNTING_MS = 10 * 60_000

/** How long counting waits for a table that somebody has locked. */
const LOCK_TIMEOUT = '5s'

export interface TableRows {
  readonly name: string
  readonly rows: number
}

/**
 * Counts the rows of tables.
 *
 * @param query in a session of the project's own login: to read a table is to evaluate its policies, which are the project's code.
 */
export async function countRows(
  query: Query,
  schemaName: string,
  tables: readonly string[],
): Promise<readonly TableRows[]> {
  const counted: TableRows[] = []
  for (const name of tables) {
    const [row] = await query<{ rows: number }>(
      `SELECT pg_catalog.count(*)::pg_catalog.float8 AS rows FROM ONLY ${quoteIdentifier(schemaName)}.${quoteIdentifier(name)}`,
      [],
    )
    counted.push({ name, rows: row?.rows ?? 0 })
  }
  return counted
}

/**
 * Counts the rows of all tables of a schema, by name, in a transaction of its own that reads only.
 *
 * @param database as the project's own login sees it.
 * @throws {AppError} CONFLICT where that takes too long, or a table of the project refuses to be read.
 */
export async function countSchemaRows(
  { database, extensionSchemas }: Pick<ProjectDatabase, 'database' | 'extensionSchemas'>,
  schemaName: string,
): Promise<readonly TableRows[]> {
  const count = async (tx: Transaction): Promise<readonly TableRows[]> => {
    await tx.$executeRawUnsafe('SET TRANSACTION READ ONLY')
    await tx.$executeRawUnsafe(`SET LOCAL statement_timeout = ${MAX_COUNTING_MS}`)
    await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
    // The project's own policies may hide rows from its own login; rows are counted as that sees them.
    await tx.$executeRawUnsafe('SET LOCAL row_security = on')
    await tx.$executeRawUnsafe(searchStage(schemaName, extensionSchemas))
    const query: Query = (sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters)
    return countRows(query, schemaName, await listTables(tx, schemaName))
  }
  return database.prisma
    .$transaction(count, { isolationLevel: 'RepeatableRead', timeout: MAX_COUNTING_MS })
    .catch((error: unknown) => {
      const message = sqlMessage(error)
      throw message === undefined ? error : conflict(`the rows that are kept cannot be counted: ${message}`)
    })
}

/** The ordinary tables of a schema, by name. */
export async function listTables(tx: Transaction, schemaName: string): Promise<readonly string[]> {
  const rows = await tx.$queryRaw<{ name: string }[]>`
    SELECT relname::pg_catalog.text AS name FROM pg_catalog.pg_class
    JOIN pg_catalog.pg_namespace ON pg_namespace.oid OPERATOR(pg_catalog.=) relnamespace
    WHERE nspname OPERATOR(pg_catalog.=) ${schemaName}::pg_catalog.text
      AND relkind OPERATOR(pg_catalog.=) 'r'::pg_catalog."char" ORDER BY relname`
  return rows.map(({ name }) => name)
}
