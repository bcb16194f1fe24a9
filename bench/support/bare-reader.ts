import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { z } from 'zod'
import { planRead, readCatalog } from '../../src/content/query/index.ts'
import { MAX_CONNECTIONS } from '../../src/database/login-databases.ts'
import { referenceSql } from '../../src/events/reference-sql.ts'
import type { BenchRun } from './bench-run.ts'
import { SAMPLE_TABLE } from './sample-table.ts'

const SERVER = fileURLToPath(new URL('./bare-reader.mjs', import.meta.url))

/**
 * Starts a bare Express handler, in a process of its own, that answers a query with the very statement that Wharf runs for
 * it, prepared, over as many connections as Wharf has for a project.
 *
 * @param query its filters are all of its values.
 * @returns where it is.
 */
export async function startBareReader(
  { postgres, table: { schemaName } }: BenchRun,
  query: readonly (readonly [string, string])[],
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const connectionString = postgres.superuserUrl
  const client = new pg.Client({ connectionString })
  await client.connect()
  const catalog = await readCatalog(async (sql, values) => (await client.query(sql, [...values])).rows, schemaName)
  const { rows } = await client.query('SELECT stage_id FROM system.stage_state WHERE schema_name = $1', [schemaName])
  await client.end()
  const [{ stage_id: stageId }] = z.tuple([z.object({ stage_id: z.string() })]).parse(rows)
  const reference = referenceSql(stageId, schemaName)
  const { statement } = planRead(catalog, SAMPLE_TABLE, query, { format: 'json', maxRows: 1000, reference })
  const filters = query.flatMap(([name]) => (name === 'order' || name === 'limit' ? [] : [name]))
  if (statement.values.length !== reference.values.length + filters.length)
    throw new Error('not all values are of filters')

  const child = fork(SERVER)
  const exited = once(child, 'exit')
  const messaged = once(child, 'message')
  child.send({
    connectionString,
    searchPath: schemaName,
    connections: MAX_CONNECTIONS.content,
    text: statement.text,
    first: reference.values,
    filters,
  })
  const [message] = await messaged
  return {
    url: `http://127.0.0.1:${z.object({ port: z.number() }).parse(message).port}`,
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}
