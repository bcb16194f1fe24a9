import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { TEMPLATE_DATABASE } from './global-setup.ts'

export interface TestDatabase {
  /** Connection URL of an owner that is no superuser. */
  readonly url: string
  /** The same database as the cluster's superuser sees it. */
  readonly superuserUrl: string
  query<Row extends pg.QueryResultRow>(sql: string, parameters?: unknown[]): Promise<Row[]>
  drop(): Promise<void>
}

/** An empty database. */
export const createTestDatabase = (): Promise<TestDatabase> => createDatabase('template0')

/** A database with Wharf's control and system tables. */
export const createMigratedDatabase = (): Promise<TestDatabase> => createDatabase(TEMPLATE_DATABASE)

async function createDatabase(template: string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await asSuperuser(`CREATE DATABASE ${name} OWNER wharf TEMPLATE ${template}`)
  const url = withDatabase(inject('wharfUrl'), name)
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  return {
    url,
    superuserUrl: withDatabase(inject('clusterUrl'), name),
    async query<Row extends pg.QueryResultRow>(sql: string, parameters?: unknown[]) {
      return (await pool.query<Row>(sql, parameters)).rows
    },
    async drop() {
      await pool.end()
      await asSuperuser(`DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

function withDatabase(connectionString: string, name: string): string {
  const url = new URL(connectionString)
  url.pathname = `/${name}`
  return url.href
}

async function asSuperuser(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('clusterUrl') })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
