import { randomUUID } from 'node:crypto'
import { startOwnCluster } from './own-cluster.ts'
import { query } from './sessions.ts'

/** A server that is not Wharf's, with databases for a test, and a login that may read them all by its password. */
export interface ServerOfMany {
  /** With the password. */
  readonly address: URL
  readonly password: string
  /** Runs SQL as the superuser, in a database or in `postgres`. */
  run(sql: string, database?: string): Promise<void>
  makeDatabase(name: string, script?: string, owner?: string): Promise<void>
  /** Gives the login another password. */
  changePassword(password: string): Promise<void>
  /** The schema `public` of a database, as `pg_dump` writes it. */
  dump(database: string): Promise<string>
  remove(): Promise<void>
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

export async function startServerOfMany(programs: string): Promise<ServerOfMany> {
  const cluster = await startOwnCluster(programs)
  const password = `secret-${randomUUID()}`
  const urlOf = (database: string): string =>
    Object.assign(new URL(cluster.superuserUrl), { pathname: `/${encodeURIComponent(database)}` }).href
  const run = async (sql: string, database = 'postgres'): Promise<void> => {
    await query(urlOf(database), sql)
  }
  const changePassword = (next: string): Promise<void> => run(`ALTER ROLE backup PASSWORD '${next}'`)
  await run('CREATE ROLE backup LOGIN IN ROLE pg_read_all_data')
  await changePassword(password)
  await run(`DO $$ BEGIN
      EXECUTE format('COPY (VALUES (''host all postgres 127.0.0.1/32 trust''),
        (''host all all 127.0.0.1/32 scram-sha-256'')) TO %L', current_setting('hba_file'));
    END $$`)
  await run('SELECT pg_reload_conf()')
  const address = new URL(cluster.superuserUrl)
  Object.assign(address, { protocol: 'postgres:', username: 'backup', password, pathname: '' })
  return {
    ...{ address, password, run, changePassword, remove: cluster.remove },
    async dump(database) {
      const text = await cluster.dump({ superuserUrl: urlOf(database) }, 'public')
      return text.replace(/^\\(un)?restrict .*$/gm, '')
    },
    async makeDatabase(
      name,
      script = 'CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)',
      owner = 'postgres',
    ) {
      await run(`CREATE DATABASE ${quoted(name)} TEMPLATE template0 OWNER ${owner}`)
      if (script !== '') await run(script, name)
    },
  }
}
