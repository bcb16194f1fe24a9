import { afterAll, beforeAll, expect, test } from 'vitest'
import { findProject } from '../../src/projects/projects.ts'
import { createStage } from '../../src/projects/stages.ts'
import type { ApiAnswer } from '../support/http/api-client.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf()
})
afterAll(() => wharf.close())

const SHARERS = 8

/** Many do the same at once. @returns how often each status was the answer. */
async function atOnce(ask: () => Promise<ApiAnswer>): Promise<Record<number, number>> {
  const answers = await Promise.all(Array.from({ length: SHARERS }, ask))
  return answers.reduce<Record<number, number>>((counts, { status }) => {
    counts[status] = (counts[status] ?? 0) + 1
    return counts
  }, {})
}

test('a role that several delete at once is deleted once, and not found by the others', async () => {
  await createProject(wharf, 'roles')
  for (const round of [1, 2, 3]) {
    await wharf.root.put('/projects/roles/roles/reader', { json: { content: { read: true } } })
    const statuses = await atOnce(() => wharf.root.delete('/projects/roles/roles/reader'))
    expect(statuses, `round ${round}`).toEqual({ 204: 1, 404: SHARERS - 1 })
  }
})

test('a stage that several delete at once is deleted once, and not found by the others', async () => {
  await createProject(wharf, 'stages')
  for (const round of [1, 2, 3]) {
    await wharf.root.post('/projects/stages/stages', { json: { slug: 'draft' } })
    const statuses = await atOnce(() => wharf.root.delete('/projects/stages/stages/draft'))
    expect(statuses, `round ${round}`).toEqual({ 204: 1, 404: SHARERS - 1 })
  }
})

test('a stage, a role and a token that come too late for their project find none', async () => {
  const { control } = wharf.container
  await createProject(wharf, 'late')
  const deletion = control.prisma.$transaction(
    async (tx) => {
      await tx.$executeRaw`DELETE FROM control.membership WHERE project_id = (SELECT id FROM control.project WHERE slug = 'late')`
      await tx.$executeRaw`DELETE FROM control.project WHERE slug = 'late'`
      const asking = Promise.all([
        wharf.root.post('/projects/late/stages', { json: { slug: 'draft' } }),
        wharf.root.put('/projects/late/roles/reader', { json: { content: { read: true } } }),
        wharf.root.post('/tokens', { json: { name: 't', memberships: [{ project: 'late', role: 'admin' }] } }),
      ])
      // All three have found the project, and wait to know whether it is deleted.
      await expect.poll(waiting).toBeGreaterThanOrEqual(3)
      return { asking }
    },
    { timeout: 30_000 },
  )
  const answers = await (await deletion).asking
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
})

async function waiting(): Promise<number> {
  const rows = await wharf.database.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
  return rows.length
}

test('a stage that is made just before its project is deleted goes with it', async () => {
  const { control } = wharf.container
  await createProject(wharf, 'short')
  const project = await findProject(control.prisma, 'short')
  const made = await control.prisma.$transaction(
    async (tx) => {
      const stage = await createStage(tx, project, 'draft')
      const deleting = wharf.root.delete('/projects/short')
      await expect.poll(waiting).toBeGreaterThan(0)
      return { stage, deleting }
    },
    { timeout: 30_000 },
  )
  expect(await made.deleting).toMatchObject({ status: 204 })
  const left = await wharf.database.query('SELECT FROM system.stage_state WHERE stage_id = $1', [made.stage.id])
  expect(left).toEqual([])
})
