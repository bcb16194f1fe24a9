import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { askTogether } from '../../../src/database/ask-together.ts'
import {
  createStatements,
  type StructureLines,
  statementsWithoutRows,
} from '../../../src/transfer/structure/create-statements.ts'
import { fillViews } from '../../../src/transfer/structure/fill-views.ts'
import type { Query } from '../../../src/transfer/structure/query.ts'
import { openSession } from '../servers/sessions.ts'

/** A session in which one schema is the whole `search_path`, as exports and imports have it. */
export interface StageSession {
  readonly client: pg.Client
  readonly query: Query
  run(statements: readonly string[]): Promise<void>
  /** Builds what lines describe, without rows. */
  build(lines: StructureLines): Promise<void>
  /** Runs a file of test/fixtures. */
  runFixture(name: string): Promise<void>
  end(): Promise<void>
}

/** Opens a session in a new, empty schema. */
export async function openStage(url: string, schema: string): Promise<StageSession> {
  const client = await openSession(url)
  const run = async (statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await client.query(statement)
  }
  const name = pg.escapeIdentifier(schema)
  await run([`CREATE SCHEMA ${name}`, `SET search_path = ${name}`])
  return {
    client,
    query: askTogether(client),
    run,
    async build(lines) {
      const statements = createStatements(lines)
      await run(['BEGIN', ...statementsWithoutRows(statements)])
      await fillViews({ execute: (statement) => run([statement]) }, statements.filled)
      await run([...statements.last, 'COMMIT'])
    },
    runFixture: async (file) => run([await readFile(new URL(`../../fixtures/${file}`, import.meta.url), 'utf8')]),
    end: () => client.end(),
  }
}
