import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { contentsOf, exportOf, sendArchive } from '../support/archives/import.ts'
import { askExport, jobOf, showJob, untilEnded } from '../support/jobs/jobs.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const TABLES = 'CREATE TABLE item (id int PRIMARY KEY, name text)'

let wharf: TestWharf
/** Of a job that has exported `shop` and `blog`. */
let path: string

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  await createProject(wharf, 'shop', `${TABLES}; INSERT INTO item VALUES (1, 'hat'), (2, 'scarf')`)
  await createProject(wharf, 'blog', `${TABLES}; INSERT INTO item VALUES (7, 'post')`)
  const job = jobOf(await askExport(wharf.root, [{ slug: 'blog' }, { slug: 'shop' }]))
  await vi.waitFor(async () => expect(await showJob(wharf.root, job.id)).toMatchObject({ status: 'succeeded' }), 60_000)
  path = `/jobs/${job.id}/import`
})

afterAll(() => wharf.close())

/** Adds a row, so that what an import brings back can be seen. */
const write = async (project: string): Promise<void> => {
  const written = await wharf.root.post(`/content/${project}/live/item`, { json: { id: 99, name: 'new' } })
  expect(written.status, written.text).toBe(201)
}

describe('the archive that an export has made', () => {
  test('is looked at, and imported, where it is', async () => {
    const before = [await contentsOf(wharf, 'shop'), await contentsOf(wharf, 'blog')]
    await write('shop')
    const examined = await wharf.root.post(`${path}?dryRun=true`)
    expect(examined.json).toMatchObject({
      ...{ dryRun: true, complete: true },
      projects: [
        { slug: 'blog', stages: [{ tables: [{ name: 'item', rowsNow: 1, rowsAfter: 1 }] }] },
        { slug: 'shop', stages: [{ tables: [{ name: 'item', rowsNow: 3, rowsAfter: 2 }] }] },
      ],
    })
    expect((await wharf.root.post(path)).status).toBe(200)
    expect([await contentsOf(wharf, 'shop'), await contentsOf(wharf, 'blog')]).toEqual(before)
  })

  test('gives one of its projects, and leaves the others as they are', async () => {
    const before = await contentsOf(wharf, 'shop')
    await write('shop')
    await write('blog')
    const blog = await contentsOf(wharf, 'blog')
    const imported = await wharf.root.post(`${path}?project=shop`)
    expect(imported.json).toMatchObject({ projects: [{ slug: 'shop', targetSlug: 'shop' }] })
    expect(await contentsOf(wharf, 'shop')).toEqual(before)
    expect(await contentsOf(wharf, 'blog')).toEqual(blog)
  })

  test('is imported by a job, of one project into another one, and the same key gives the same job', async () => {
    await createProject(wharf, 'copy')
    const ask = () =>
      wharf.root.post(`${path}?project=shop&targetSlug=copy`, {
        headers: { prefer: 'respond-async', 'idempotency-key': 'restore' },
      })
    const answer = await ask()
    expect(answer.status, answer.text).toBe(202)
    expect(jobOf(await ask()).id).toBe(jobOf(answer).id)
    expect(await untilEnded(wharf.root, jobOf(answer))).toMatchObject({
      status: 'succeeded',
      result: { projects: [{ slug: 'shop', targetSlug: 'copy' }] },
    })
    expect(await contentsOf(wharf, 'copy')).toEqual(await contentsOf(wharf, 'shop'))
  })

  test('has no other projects', async () => {
    for (const query of ['', '&dryRun=true']) {
      const answer = await wharf.root.post(`${path}?project=nobody${query}`)
      expect(answer).toMatchObject({ status: 404, json: { detail: expect.stringContaining('"nobody"') } })
    }
  })

  test('is for those who may download it and import it', async () => {
    await wharf.root.put('/projects/blog/roles/giver', { json: { content: { read: true, import: true } } })
    await wharf.root.put('/projects/shop/roles/taker', { json: { content: { read: true, export: true } } })
    await wharf.root.put('/projects/shop/roles/giver', { json: { content: { read: true, import: true } } })
    const { id } = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    expect(await untilEnded(wharf.root, jobOf(await wharf.root.get(`/jobs/${id}`)))).toMatchObject({
      status: 'succeeded',
    })
    const { client: taker } = await createToken(wharf, 'taker', 'shop')
    const { client: giver } = await createToken(wharf, 'giver', 'shop')
    expect((await taker.get(`/jobs/${id}/file`)).status).toBe(200)
    expect((await taker.post(`/jobs/${id}/import`)).status).toBe(403)
    expect((await giver.post(`/jobs/${id}/import`)).status).toBe(404)
    const { client: outsider } = await createToken(wharf, 'giver', 'blog')
    expect((await outsider.post(path)).status).toBe(404)
  })

  test('is gone once its job is', async () => {
    const job = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    await untilEnded(wharf.root, job)
    expect((await wharf.root.delete(`/jobs/${job.id}`)).status).toBe(204)
    expect((await wharf.root.post(`/jobs/${job.id}/import`)).status).toBe(404)
  })
})

test('one project of an archive that is sent is imported alone', async () => {
  const both = await wharf.root.post('/export', { json: { projects: [{ slug: 'shop' }, { slug: 'blog' }] } })
  const blog = await contentsOf(wharf, 'blog')
  const answer = await sendArchive(wharf.root, both.text, { query: '?project=blog&targetSlug=shop' })
  expect(answer.status, answer.text).toBe(200)
  expect(await contentsOf(wharf, 'shop')).toEqual(blog)
  expect(await exportOf(wharf.root, 'blog', { system: false })).toContain('"post"')
})

test('what an undo would bring back is said, with its end, and nothing where nothing is kept', async () => {
  await createProject(wharf, 'fresh', TABLES)
  const undo = '/projects/fresh/stages/live/undo'
  expect((await wharf.root.get(undo)).json).toEqual({ kept: null })
  await sendArchive(wharf.root, await exportOf(wharf.root, 'fresh', { system: false }))
  const { json } = await wharf.root.get(undo)
  const times = { replacedAt: expect.any(String), until: expect.any(String) }
  expect(json).toEqual({ kept: { ...times, jobId: null, undone: false, tables: null } })
  const { kept } = json as { kept: { replacedAt: string; until: string } }
  expect(Date.parse(kept.until) - Date.parse(kept.replacedAt)).toBeGreaterThan(23 * 3_600_000)
  expect((await wharf.root.post(undo)).json).toMatchObject({ replacedAt: kept.replacedAt })
  expect((await wharf.root.get(undo)).json).toMatchObject({ kept: { jobId: null, undone: true } })
})

test('an undo is told by what it takes back: the job, whose result says when, and the rows of each table', async () => {
  const undo = '/projects/shop/stages/live/undo'
  const headers = { prefer: 'respond-async' }
  const from = path.split('/')[2]
  const { id } = jobOf(await wharf.root.post(`${path}?project=shop`, { headers }))
  const stageOf = async () => {
    const { result, ...job } = await showJob(wharf.root, id)
    return { ...job, stage: (result as { projects?: { stages: object[] }[] } | null)?.projects?.[0]?.stages[0] }
  }
  await vi.waitFor(async () => expect(await stageOf()).toMatchObject({ status: 'succeeded' }), 60_000)
  expect((await wharf.root.get(`/jobs/${id}`)).json).toMatchObject({
    request: { from: { jobId: from, createdAt: expect.any(String) } },
  })
  expect((await stageOf()).stage).not.toHaveProperty('undoneAt')
  await applyScript(wharf, 'shop', 'CREATE TABLE newer (id int); INSERT INTO newer VALUES (1)')
  expect((await wharf.root.get(`${undo}?rows=true`)).json).toMatchObject({
    kept: {
      jobId: id,
      undone: false,
      tables: expect.arrayContaining([{ name: 'newer', rowsNow: 1, rowsAfter: null }]),
    },
  })
  expect((await wharf.root.post(`${undo}?force=true`)).status).toBe(200)
  expect((await stageOf()).stage).toMatchObject({ undoneAt: expect.stringMatching(/^\d{4}-.+Z$/) })
  expect((await wharf.root.get(undo)).json).toMatchObject({ kept: { jobId: id, undone: true } })
  expect((await wharf.root.post(`${undo}?force=true`)).status).toBe(200)
  expect((await stageOf()).stage).not.toHaveProperty('undoneAt')
  expect((await wharf.root.get(undo)).json).toMatchObject({ kept: { jobId: id, undone: false } })
})
