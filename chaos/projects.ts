import { gzipSync } from 'node:zlib'
import { type Client, textOf } from './client.ts'

/** What is written, read and exported, and never imported into. */
export const ACCOUNTS = 'accounts'
/** What the accounts is transferred to. */
export const MIRROR = 'mirror'
/** What is imported into and undone while it is written. */
export const SWAPPED = 'swapped'
/** What every crash of PostgreSQL empties. */
export const FLEETING = 'fleeting'

const TABLE = 'TABLE item (id text PRIMARY KEY, n integer NOT NULL)'
const ARCHIVE_ROWS = [5, 500, 3_000, 20_000, 60_000]

export interface Archive {
  readonly bytes: Buffer
  readonly rows: readonly (readonly [string, number])[]
}

/** Makes the projects, and the archives that are imported: each with other rows. */
export async function prepareProjects(client: Client): Promise<readonly Archive[]> {
  const source = 'source'
  for (const slug of [ACCOUNTS, MIRROR, SWAPPED, source]) {
    await expectDone(client, { method: 'POST', path: '/projects', json: { slug } })
    await applySql(client, slug, `CREATE ${TABLE}`)
  }
  await expectDone(client, { method: 'POST', path: '/projects', json: { slug: FLEETING } })
  await applySql(client, FLEETING, `CREATE UNLOGGED ${TABLE}`)
  const archives: Archive[] = []
  for (const [index, count] of ARCHIVE_ROWS.entries()) {
    const rows = Array.from({ length: count }, (_, n) => [`a${index}-${n}`, n] as const)
    await applySql(
      client,
      source,
      `TRUNCATE item; INSERT INTO item SELECT 'a${index}-' || n, n FROM generate_series(0, ${count - 1}) n`,
    )
    const json = { projects: [{ slug: source, system: false }] }
    const answer = await expectDone(client, { method: 'POST', path: '/export', json })
    archives.push({ bytes: gzipSync(answer.body), rows })
  }
  return archives
}

const applySql = (client: Client, slug: string, sql: string) =>
  expectDone(client, {
    method: 'POST',
    path: `/projects/${slug}/stages/live/schema`,
    headers: { 'content-type': 'application/sql' },
    body: sql,
  })

async function expectDone(client: Client, call: Parameters<Client['ask']>[0]) {
  const answer = await client.askUntilAnswered(call)
  if (answer.status >= 300) throw new Error(`${call.method} ${call.path}: ${textOf(answer)}`)
  return answer
}
