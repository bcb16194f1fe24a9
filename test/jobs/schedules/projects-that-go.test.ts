import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { runCommand } from '../../support/cli/cli.ts'
import { dsnOf } from '../../support/cli/dsn.ts'
import { createExternalDatabase, type ExternalDatabase } from '../../support/database/external-database.ts'
import { makeSchedule } from '../../support/jobs/schedules.ts'
import { MAY_ATTACH } from '../../support/service/attached-location.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf
let external: ExternalDatabase
beforeAll(async () => {
  wharf = await startWharf({ environment: MAY_ATTACH })
  external = await createExternalDatabase('CREATE TABLE item (n int)')
  await createProject(wharf, 'other')
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

const listSchema = z.object({ items: z.array(z.object({ id: z.string(), name: z.string(), request: z.unknown() })) })
const serverSchema = z.object({ projects: z.array(z.object({ database: z.string(), project: z.string() })) })

const listed = async (): Promise<z.output<typeof listSchema>['items']> =>
  listSchema.parse((await wharf.root.get('/schedules')).json).items

/** Each kind of project, and the call that has it forgotten. */
const WAYS = [
  { kind: 'hosted', json: {}, path: '/projects/going' },
  { kind: 'of its own database', json: { ownDatabase: true }, path: '/projects/going' },
  { kind: 'attached', json: {}, path: '/projects/going/attachment' },
] as const

test.each(WAYS)('a project that is $kind goes only with the schedules that name it', async ({ kind, json, path }) => {
  const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
  const made = await wharf.root.post('/projects', {
    json: { slug: 'going', ...json, ...(kind === 'attached' && { attach }) },
  })
  expect(made.status, made.text).toBe(201)
  await makeSchedule(wharf.root, 'going', { name: 'nightly' })
  await makeSchedule(wharf.root, 'going', {
    name: 'both',
    request: { projects: [{ slug: 'going' }, { slug: 'other' }] },
  })
  await makeSchedule(wharf.root, 'going', { name: 'any', request: { projects: [], patterns: [{ pattern: 'go*' }] } })
  await makeSchedule(wharf.root, 'going', {
    name: 'copy',
    kind: 'transfer',
    request: { source: { project: 'other' }, target: { project: 'going' } },
  })
  await makeSchedule(wharf.root, 'other', { name: 'elsewhere' })

  const refused = await wharf.root.delete(path)
  expect(refused).toMatchObject({
    status: 409,
    json: { detail: expect.stringMatching(/schedules "nightly", "both", "copy" name "going".*--delete-schedules/) },
  })
  expect((await wharf.root.get('/projects/going')).status).toBe(200)
  expect(await listed()).toHaveLength(5)

  const gone = await wharf.root.delete(`${path}?deleteSchedules=true`)
  expect(gone.status, gone.text).toBe(204)
  expect(await listed()).toMatchObject([
    { name: 'both', request: { projects: [{ slug: 'other' }] } },
    { name: 'any' },
    { name: 'elsewhere' },
  ])
  for (const { id } of await listed()) await wharf.root.delete(`/schedules/${id}`)
})

test('a project whose deletion is refused keeps its schedules', async () => {
  const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
  expect((await wharf.root.post('/projects', { json: { slug: 'staying', attach } })).status).toBe(201)
  const { id } = await makeSchedule(wharf.root, 'staying')
  expect((await wharf.root.delete('/projects/staying?deleteSchedules=true')).status).toBe(409)
  expect((await wharf.root.get(`/schedules/${id}`)).status).toBe(200)
  expect((await wharf.root.delete('/projects/staying/attachment?deleteSchedules=true')).status).toBe(204)
})

test('the command line has schedules go with a project, and with a server of projects, where it is told to', async () => {
  const server = ['--server', dsnOf(wharf)]
  await createProject(wharf, 'going')
  await makeSchedule(wharf.root, 'going', { name: 'nightly' })
  const refused = await runCommand(['project:delete', 'going', '--yes', ...server])
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('the schedule "nightly" names "going"') })
  const done = await runCommand(['project:delete', 'going', '--yes', '--delete-schedules', ...server])
  expect(done.code, done.stderr).toBe(0)

  const database = external.owner.pathname.slice(1)
  const all = Object.assign(new URL(external.owner), { search: '?exclude=postgres,wharf*' })
  const attached = await runCommand(['project:attach', '--all', '--name', 'db', all.href, ...server])
  const { projects } = serverSchema.parse((await wharf.root.get('/attached-servers/db')).json)
  const slug = projects.find((each) => each.database === database)?.project ?? ''
  expect(slug, attached.stdout).not.toBe('')
  await makeSchedule(wharf.root, slug, { name: 'nightly' })
  const kept = await runCommand(['project:detach', '--all', 'db', '--yes', ...server])
  expect(kept).toMatchObject({ code: 1, stderr: expect.stringContaining(`the schedule "nightly" names "${slug}"`) })
  const gone = await runCommand(['project:detach', '--all', 'db', '--yes', '--delete-schedules', ...server])
  expect(gone.code, gone.stderr).toBe(0)
  expect(await listed()).toEqual([])
})
