import pg from 'pg'
import type { BenchRun } from './bench-run.ts'
import { createDumpCommands, type DumpCommands } from './dump-commands.ts'
import {
  createIndexes,
  createTables,
  fillTables,
  type SampleDatabaseTable,
  sampleTables,
  settle,
} from './sample-database.ts'
import { SAMPLE_TABLE } from './sample-table.ts'
import type { BenchService } from './start-service.ts'
import { applyScript } from './wharf-client.ts'

const DATABASE = 'application'

export interface SampleDatabase {
  /** Has the tables as the bench's project. */
  readonly service: BenchService
  readonly tables: readonly SampleDatabaseTable[]
  /** Vacuums and analyzes what was imported, as autovacuum would while something else is measured. */
  readonly settleImport: () => Promise<void>
  /** For a database beside it, on the same server, with the same tables and rows. */
  readonly commands: DumpCommands
}

/** Fills the sample database twice: as the bench's project, and for PostgreSQL's own programs. */
export async function withSampleDatabase<T>(
  { postgres, table, outputDir, withService }: BenchRun,
  rows: number | undefined,
  use: (database: SampleDatabase) => Promise<T>,
): Promise<T> {
  if (!postgres.programs) throw new Error('this part needs an installed PostgreSQL with its client programs')
  const tables = sampleTables(rows)
  const url = await createDatabase(postgres.superuserUrl)
  await runSql(url, createTables(tables))
  await fillTables(url, 'public', tables)
  await runSql(url, createIndexes(tables))
  await settle(url)
  const commands = await createDumpCommands(postgres.programs, { url, tables, scriptDir: outputDir })
  return withService(async (service) => {
    await applyScript(service, `DROP TABLE ${SAMPLE_TABLE}; ${createTables(tables)}`)
    await fillTables(postgres.superuserUrl, table.schemaName, tables)
    await applyScript(service, createIndexes(tables))
    const settleImport = (): Promise<void> => settle(postgres.superuserUrl)
    await settleImport()
    return use({ service, tables, settleImport, commands })
  })
}

/** @returns its URL, as the same login. */
async function createDatabase(superuserUrl: string): Promise<string> {
  await runSql(superuserUrl, `CREATE DATABASE ${DATABASE}`)
  return Object.assign(new URL(superuserUrl), { pathname: `/${DATABASE}` }).href
}

async function runSql(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}
