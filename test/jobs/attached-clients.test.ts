import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf } from '../support/archives/import.ts'
import { APPLICATION_SCHEMA, generationOf, grantsTo, runApplication } from '../support/clients/application.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { eventually } from '../support/eventually.ts'
import { askImport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { installedCluster } from '../support/servers/installed-cluster.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { query } from '../support/servers/sessions.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough } from '../support/thorough.ts'

const IMPORTS = isThorough ? 12 : 2

/** What an application may try again: it could not be serialized, or the connection broke. */
const MAY_BE_TRIED_AGAIN = /^(40001|57P0[123]|08\w{3}|ECONNRESET) /

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase(APPLICATION_SCHEMA, installedCluster()?.createDatabase)
  await query(external.database.superuserUrl, 'CREATE EXTENSION citext; CREATE EXTENSION pg_trgm')
  await external.run(`ALTER TABLE account ADD nick citext; CREATE INDEX ON account USING gin (name gin_trgm_ops);
    ${grantsTo(external.reader.username)}`)
  wharf = await startWharf({ worker: true, environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
  const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
  const made = await wharf.root.post('/projects', { json: { slug: 'shop', attach } })
  expect(made.status, made.text).toBe(201)
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

/** Structure, owners and rights in `public`. */
async function rights(): Promise<string> {
  const bin = installedPrograms()
  const { superuserUrl } = external.database
  if (bin !== undefined && installedCluster()) {
    const { stdout } = await promisify(execFile)(join(bin, 'pg_dump'), ['-s', '-n', 'public', superuserUrl])
    return stdout.replace(/^\\(un)?restrict .*$/gm, '')
  }
  const found = await query(
    superuserUrl,
    `SELECT relname, relkind, relowner::regrole::text, relacl::text FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind <> 'i' ORDER BY 1`,
  )
  return JSON.stringify(found)
}

test('twenty clients of an application go on while its database is imported into, and see one import at a time', async () => {
  const archives: string[] = []
  for (let gen = IMPORTS; gen >= 0; gen -= 1) {
    await external.run(generationOf(gen))
    archives.unshift(await exportOf(wharf.root, 'shop'))
  }
  const before = await rights()
  const application = runApplication(external.reader.href)
  await eventually(() => application.seen().writes).toBeGreaterThan(20)
  try {
    for (const archive of archives.slice(1)) {
      const job = jobOf(await askImport(wharf.root, archive, '?targetSlug=shop'))
      expect(await untilEnded(wharf.root, job)).toMatchObject({ status: 'succeeded', error: null })
    }
    for (const expected of [IMPORTS - 1, IMPORTS]) {
      const undone = await wharf.root.post('/projects/shop/stages/live/undo?force=true')
      expect(undone.status, undone.text).toBe(200)
      expect(await query(external.owner.href, 'SELECT DISTINCT gen FROM entry')).toEqual([{ gen: expected }])
    }
  } finally {
    const { mixtures, errors } = await application.stop()
    expect({ mixtures, errors: errors.filter((error) => !MAY_BE_TRIED_AGAIN.test(error)) }).toEqual({
      mixtures: [],
      errors: [],
    })
  }
  expect(await rights()).toBe(before)
})
