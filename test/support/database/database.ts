import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { query } from '../servers/sessions.ts'
import { TEMPLATE_DATABASE } from '../servers/template-database.ts'

export interface TestDatabase {
  /** Connection URL of an owner that is no superuser. */
  readonly url: string
  /** The same database as the cluster's superuser sees it. */
  readonly superuserUrl: string
  query<Row extends pg.QueryResultRow>(sql: string, parameters?: unknown[]): Promise<Row[]>
  drop(): Promise<void>
}

/** A server, by the connection URLs of its superuser and of the login `wharf`. */
export interface TestCluster {
  readonly url: string
  readonly superuserUrl: string
}

/** An empty database. */
export const createTestDatabase = (): Promise<TestDatabase> => createDatabaseIn(sharedCluster())

/** A database with Wharf's control and system tables. */
export const createMigratedDatabase = (): Promise<TestDatabase> => createDatabaseIn(sharedCluster(), TEMPLATE_DATABASE)

const sharedCluster = (): TestCluster => ({ url: inject('wharfUrl'), superuserUrl: inject('clusterUrl') })

export async function createDatabaseIn(cluster: TestCluster, template = 'template0'): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await query(cluster.superuserUrl, `CREATE DATABASE ${name} OWNER wharf TEMPLATE ${template}`)
  const url = withDatabase(cluster.url, name)
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  // A connection that is ended as the database is dropped; who uses one learns of it by the query.
  pool.on('error', () => undefined)
  return {
    url,
    superuserUrl: withDatabase(cluster.superuserUrl, name),
    async query<Row extends pg.QueryResultRow>(sql: string, parameters?: unknown[]) {
      return (await pool.query<Row>(sql, parameters)).rows
    },
    async drop() {
      await pool.end()
      await query(cluster.superuserUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

function withDatabase(connectionString: string, name: string): string {
  const url = new URL(connectionString)
  url.pathname = `/${name}`
  return url.href
}
