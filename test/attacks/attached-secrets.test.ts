import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import type { ApiAnswer } from '../support/http/api-client.ts'
import { askExport, BACKENDS, jobOf, startBackend, untilEnded } from '../support/jobs/jobs.ts'
import { makeSchedule, runWhenDue } from '../support/jobs/schedules.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type ServerOfMany, startServerOfMany } from '../support/servers/server-of-many.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let external: ExternalDatabase
/** A server each of whose databases is attached, where one can be started. */
let many: ServerOfMany | undefined
const programs = installedPrograms()

beforeAll(async () => {
  many = programs === undefined ? undefined : await startServerOfMany(programs)
  await many?.makeDatabase('stock')
  external = await createExternalDatabase('CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)')
})
afterAll(async () => {
  await external?.drop()
  await many?.remove()
})

/** A password that nothing is connected with. */
const WRONG = 'another-secret-that-is-wrong'

const stages = [{ slug: 'live', schema: 'public' }]

/** Everything that is asked of an attached project, what goes well and what fails. @returns all answers. */
async function useAttached(wharf: TestWharf): Promise<readonly ApiAnswer[]> {
  const { root } = wharf
  const answers: ApiAnswer[] = []
  const note = async (asked: Promise<ApiAnswer>): Promise<ApiAnswer> => {
    const answer = await asked
    answers.push(answer)
    return answer
  }
  const attach = (slug: string, address: URL | string) =>
    note(root.post('/projects', { json: { slug, attach: { address: String(address), stages } } }))
  const wrong = Object.assign(new URL(external.owner), { password: WRONG })
  await attach('refused', wrong)
  await attach('refused', `${external.owner}?unknown=1`)
  await attach('refused', Object.assign(new URL(external.owner), { pathname: '/nowhere' }))
  await attach('refused', Object.assign(new URL(external.owner), { hostname: 'db.example' }))
  await note(root.post('/projects', { json: { slug: 'refused', address: external.owner.href } }))
  expect((await attach('shop', external.owner)).status).toBe(201)
  await note(root.put('/projects/shop/attachment', { json: { address: wrong.href } }))
  await note(root.put('/projects/shop/attachment', { json: { address: external.reader.href } }))
  await createProject({ root }, 'copy')
  const transfer = { json: { source: { project: 'shop' }, target: { project: 'copy' } } }
  const schedule = await makeSchedule(root, 'shop', { verify: true })
  const work = async (): Promise<void> => {
    await note(root.post('/export', { json: { projects: [{ slug: 'shop' }] } }))
    for (const asked of [askExport(root, [{ slug: 'shop' }]), root.post('/transfer', transfer)]) {
      const answer = await note(asked)
      if (answer.status === 202) await untilEnded(root, jobOf(answer))
    }
    await runWhenDue(wharf, schedule)
    await note(root.get('/content/shop/live/item'))
    await note(root.get('/projects/shop/attachment'))
  }
  await work()
  await withSession(external.database.superuserUrl, (client) =>
    client.query(`ALTER ROLE ${external.reader.username} PASSWORD 'changed'`),
  )
  await wharf.container.attached.closeAll()
  await work()
  for (const path of [
    '/projects',
    '/projects/shop',
    '/jobs',
    `/schedules/${schedule.id}`,
    '/metrics',
    '/openapi.json',
  ]) {
    await note(root.get(path))
  }
  return answers
}

/** Everything that is asked of a server whose databases are all attached, what goes well and what fails. @returns all answers. */
async function useServer(wharf: TestWharf, { address, changePassword, ...many }: ServerOfMany) {
  const { root, container } = wharf
  const answers: ApiAnswer[] = []
  const note = async (asked: Promise<ApiAnswer>): Promise<ApiAnswer> => {
    const answer = await asked
    answers.push(answer)
    return answer
  }
  const attach = (given: URL | string): Promise<ApiAnswer> =>
    note(root.post('/attached-servers', { json: { name: 'many', address: String(given) } }))
  const wrong = Object.assign(new URL(address), { password: WRONG })
  await attach(wrong)
  await attach(`${address}?unknown=1`)
  await attach(Object.assign(new URL(address), { pathname: '/nowhere' }))
  await attach(Object.assign(new URL(address), { hostname: 'db.example' }))
  expect((await attach(`${address}/?exclude=postgres`)).status).toBe(201)
  await note(root.put('/attached-servers/many', { json: { address: wrong.href } }))
  const request = { projects: [], patterns: [{ pattern: 'sto*' }] }
  const schedule = await makeSchedule(root, 'stock', { name: 'all of it', verify: true, request })
  for (const attempt of ['with its password', 'with one that has been changed']) {
    if (attempt !== 'with its password') {
      await changePassword('changed')
      await container.attached.closeAll()
    }
    await note(root.post('/attached-servers/many/look'))
    await note(root.post('/export', { json: { projects: [{ slug: 'stock' }] } }))
    const answer = await note(askExport(root, [{ slug: 'stock' }]))
    if (answer.status === 202) await untilEnded(root, jobOf(answer))
    await runWhenDue(wharf, schedule)
    for (const path of [
      `/schedules/${schedule.id}`,
      '/attached-servers',
      '/attached-servers/many',
      '/projects/stock/attachment',
      '/jobs',
      '/metrics',
    ]) {
      await note(root.get(path))
    }
  }
  await changePassword(many.password)
  return answers
}

/** All rows of all tables of Wharf's own database, the queue's too. */
async function tablesOf({ database }: TestWharf): Promise<string> {
  const tables = await database.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND tableowner = current_user`,
  )
  const rows = await Promise.all(tables.map(({ name }) => database.query(`SELECT t::text AS row FROM ${name} t`)))
  return JSON.stringify(rows)
}

async function filesOf({ dataDir }: TestWharf): Promise<string> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1')))
  return texts.join('\n')
}

async function processList(): Promise<string> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  const lines = ids.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => ''))
  return (await Promise.all(lines)).join('\n')
}

test.each(BACKENDS)(
  'no password of an attached database is in an answer, a log, a table, a file, a process or the queue on %s',
  async (backend) => {
    const { environment, redis } = await startBackend(backend)
    const hosts = [external.owner.host, ...(many ? [many.address.host] : [])]
    const variables = { ...environment, WHARF_TRANSFER_HOSTS: hosts.join(',') }
    const heard = await redis?.listen()
    const wharf = await startWharf({ worker: true, environment: variables })
    try {
      const answers = [...(await useAttached(wharf)), ...(many ? await useServer(wharf, many) : [])]
      const found = {
        answers: answers.map(({ text }) => text).join('\n'),
        log: wharf.log(),
        tables: await tablesOf(wharf),
        queue: (await redis?.dump()) ?? '',
        commands: heard?.() ?? '',
        files: await filesOf(wharf),
        processes: await processList(),
      }
      for (const [where, text] of Object.entries(found)) {
        expect(text.includes(external.password), where).toBe(false)
        expect(text.includes(WRONG), where).toBe(false)
        if (many) expect(text.includes(many.password), where).toBe(false)
      }
      // What is looked through is there at all.
      expect(found.tables).toContain(external.reader.username)
      expect(found.answers).toContain('attached-failed')
      expect(found.answers).toMatch(/^wharf_schedule_last_run_failed\{.*\} 1$/m)
      if (redis) expect(found.commands).toContain('bull')
      if (many) expect(found.answers).toContain('"outcome":"attached"')
    } finally {
      await wharf.close()
      await redis?.kill()
      await withSession(external.database.superuserUrl, (client) =>
        client.query(`ALTER ROLE ${external.reader.username} PASSWORD '${external.password}'`),
      )
    }
  },
)
