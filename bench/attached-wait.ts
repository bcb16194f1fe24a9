import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { request } from 'undici'
import { APPLICATION_SCHEMA, generationOf, grantsTo, runApplication } from '../test/support/clients/application.ts'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import type { BenchService } from './support/start-service.ts'

const REPEATS = 10
const SLUG = 'attached'
const DATABASE = 'application'
const PASSWORD = 'password-of-the-bench'

/** Measures how long clients of an application wait for a read while imports and undos replace its `public` schema. */
export async function measureAttachedWait({ postgres, withService }: BenchRun): Promise<Measurement[]> {
  const urlOf = (login: string): string => {
    const url = new URL(postgres.superuserUrl)
    url.protocol = 'postgres:'
    return Object.assign(url, { username: login, password: PASSWORD, pathname: `/${DATABASE}` }).href
  }
  await runSql(postgres.superuserUrl, `CREATE ROLE app_owner LOGIN PASSWORD '${PASSWORD}'`)
  await runSql(postgres.superuserUrl, `CREATE ROLE app_client LOGIN PASSWORD '${PASSWORD}'`)
  await runSql(postgres.superuserUrl, `CREATE DATABASE ${DATABASE} OWNER app_owner`)
  await runSql(urlOf('app_owner'), `${APPLICATION_SCHEMA}; ${grantsTo('app_client')}`)
  const environment = { WHARF_TRANSFER_HOSTS: new URL(postgres.superuserUrl).hostname }
  return withService(
    async (service) => {
      const stages = [{ slug: 'live', schema: 'public' }]
      await send(service, '/projects', { slug: SLUG, attach: { address: urlOf('app_owner'), stages } })
      await runSql(urlOf('app_owner'), generationOf(1))
      const archive = await send(service, '/export', { projects: [{ slug: SLUG, system: false }] })
      const application = runApplication(urlOf('app_client'))
      await sleep(2_000)
      const quiet = application.seen()
      for (let repeat = 0; repeat < REPEATS; repeat += 1) {
        await send(service, `/import?targetSlug=${SLUG}`, archive)
        await send(service, `/projects/${SLUG}/stages/live/undo?force=true`, undefined)
      }
      const { longestReadMs, mixtures, errors, reads, writes } = await application.stop()
      const wrong = mixtures.length + errors.length
      console.log(
        `${reads} reading and ${writes} writing transactions of 20 clients, ${REPEATS} imports and as many undos: ` +
          `the longest read took ${longestReadMs.toFixed(0)} ms (${quiet.longestReadMs.toFixed(0)} ms before the first import)`,
      )
      const { readerWait } = BOUNDS
      return [
        {
          sentence: `${readerWait.sentence} Here of 20 clients of a database that is attached.`,
          measured: `${longestReadMs.toFixed(0)} ms; ${wrong} of their transactions failed or saw two imports at once`,
          holds: longestReadMs <= readerWait.maxMs && wrong === 0,
        },
      ]
    },
    { environment },
  )
}

async function runSql(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

/** @param sent JSON, or the text of an archive. */
async function send({ url, headers }: BenchService, path: string, sent: object | string | undefined): Promise<string> {
  const isArchive = typeof sent === 'string'
  const { statusCode, body } = await request(url + path, {
    method: 'POST',
    headers: { ...headers, ...(sent && { 'content-type': isArchive ? 'application/x-ndjson' : 'application/json' }) },
    body: isArchive ? sent : sent ? JSON.stringify(sent) : null,
    headersTimeout: 0,
  })
  const text = await body.text()
  if (statusCode >= 300) throw new Error(`POST ${path} answered ${statusCode}: ${text}`)
  return text
}
