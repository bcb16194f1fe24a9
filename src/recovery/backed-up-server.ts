import type { BackedUpRow } from '../backup/read-control.ts'

/** What the projects of a backup have on the server, by the names that a recovery makes it with. */
export interface BackedUpServer {
  readonly logins: readonly string[]
  /** Those that projects have for themselves. */
  readonly databases: readonly string[]
}

/** Reads all rows of a backup, and so finds that it is whole. */
export async function readBackedUpServer(rows: AsyncIterable<BackedUpRow>): Promise<BackedUpServer> {
  const logins: string[] = []
  const databases: string[] = []
  for await (const { table, row } of rows) {
    if (table !== 'project') continue
    if (typeof row.login === 'string') logins.push(row.login)
    if (typeof row.own_database === 'string') databases.push(row.own_database)
  }
  return { logins, databases }
}
