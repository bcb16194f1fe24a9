import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { askExport, jobOf, untilEnded } from '../../support/jobs/jobs.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** The longest lines that the server reads. */
const ROW = 20_000
const STRUCTURE = 4_000

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({
    environment: { WHARF_MAX_LINE_BYTES: String(ROW), WHARF_MAX_STRUCTURE_LINE_BYTES: String(STRUCTURE) },
    worker: true,
  })
  const around = '{"row":[""]}'.length
  await createProject(wharf, 'fits', `CREATE TABLE t AS SELECT repeat('x', ${ROW - around}) AS c`)
  await createProject(wharf, 'row', `CREATE TABLE wide AS SELECT repeat('x', ${ROW - around + 1}) AS c`)
  await createProject(wharf, 'table', `CREATE TABLE told (); COMMENT ON TABLE told IS '${'x'.repeat(STRUCTURE)}'`)
})

afterAll(() => wharf.close())

/** How an export job ends. */
const ended = async (slug: string) => untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug }])))

test('an export whose lines are as long as an import reads can be imported', async () => {
  const answer = await sendArchive(wharf.root, await exportOf(wharf.root, 'fits'))
  expect(answer, answer.text).toMatchObject({ status: 200 })
})

test.each([
  ['row', 'a row of table "wide"', ROW + 1, 'WHARF_MAX_LINE_BYTES'],
  ['table', 'table "told"', undefined, 'WHARF_MAX_STRUCTURE_LINE_BYTES'],
])(
  'an export of a %s that this server could not import again fails, and says what to raise',
  async (slug, what, bytes, setting) => {
    const { status, error } = await ended(slug)
    expect(status).toBe('failed')
    expect(JSON.stringify(error)).toContain(JSON.stringify(`${what} takes a line of ${bytes ?? ''}`).slice(1, -1))
    expect(JSON.stringify(error)).toContain(setting)
  },
)
