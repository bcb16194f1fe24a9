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

const IMPORTS = isThorough ? 6 : 1

/** What an application may try again: it could not be serialized, or the connection broke. */
const MAY_BE_TRIED_AGAIN = /^(40001|57P0[123]|08\w{3}|ECONNRESET) /

/** `public`, whose objects move one by one, and a schema of the login's own, which changes its name: by project. */
const SCHEMAS = { shop: 'public', 'shop-own': 'own' } as const

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase('CREATE SCHEMA own', installedCluster()?.createDatabase)
  await query(external.database.superuserUrl, 'CREATE EXTENSION citext; CREATE EXTENSION pg_trgm')
  wharf = await startWharf({ worker: true, environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
  for (const [slug, schema] of Object.entries(SCHEMAS)) {
    await external.run(`SET search_path = ${schema}, public; ${APPLICATION_SCHEMA};
      ALTER TABLE account ADD nick citext; CREATE INDEX ON account USING gin (name gin_trgm_ops);
      ${grantsTo(external.reader.username, schema)}`)
    const attach = { address: external.owner.href, stages: [{ slug: 'live', schema }] }
    const made = await wharf.root.post('/projects', { json: { slug, attach } })
    expect(made.status, made.text).toBe(201)
  }
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

/** Structure, owners and rights in a schema. */
async function rights(schema: string): Promise<string> {
  const bin = installedPrograms()
  const { superuserUrl } = external.database
  if (bin !== undefined && installedCluster()) {
    const { stdout } = await promisify(execFile)(join(bin, 'pg_dump'), ['-s', '-n', schema, superuserUrl])
    return stdout.replace(/^\\(un)?restrict .*$/gm, '')
  }
  const found = await query(
    superuserUrl,
    `SELECT relname, relkind, relowner::regrole::text, relacl::text FROM pg_class
      WHERE relnamespace = $1::regnamespace AND relkind <> 'i' ORDER BY 1`,
    [schema],
  )
  return JSON.stringify(found)
}

/** What a client of the application connects with that looks names up in a schema. */
function connectionTo(schema: string): string {
  const url = new URL(external.reader)
  url.searchParams.set('options', `-c search_path=${schema},public`)
  return url.href
}

test.each(Object.entries(SCHEMAS))(
  'twenty clients of an application go on while its database is imported into, and see one import at a time: %s in %s',
  async (slug, schema) => {
    const archives: string[] = []
    for (let gen = IMPORTS; gen >= 0; gen -= 1) {
      await external.run(`SET search_path = ${schema}; ${generationOf(gen)}`)
      archives.unshift(await exportOf(wharf.root, slug))
    }
    const before = await rights(schema)
    const application = runApplication(connectionTo(schema))
    await eventually(() => application.seen().writes).toBeGreaterThan(20)
    try {
      for (const archive of archives.slice(1)) {
        const job = jobOf(await askImport(wharf.root, archive, `?targetSlug=${slug}`))
        expect(await untilEnded(wharf.root, job)).toMatchObject({
          status: 'succeeded',
          error: null,
          result: { projects: [{ stages: [{ undoable: true }] }] },
        })
      }
      for (const expected of [IMPORTS - 1, IMPORTS]) {
        const undone = await wharf.root.post(`/projects/${slug}/stages/live/undo?force=true`)
        expect(undone.status, undone.text).toBe(200)
        expect(await query(external.owner.href, `SELECT DISTINCT gen FROM ${schema}.entry`)).toEqual([
          { gen: expected },
        ])
      }
    } finally {
      const { mixtures, errors } = await application.stop()
      expect({ mixtures, errors: [...new Set(errors)].filter((error) => !MAY_BE_TRIED_AGAIN.test(error)) }).toEqual({
        mixtures: [],
        errors: [],
      })
    }
    expect(await rights(schema)).toBe(before)
  },
)
