import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sendArchive } from '../support/archives/import.ts'
import { spawnWharf } from '../support/cli/cli.ts'
import { forgetPeakMemory, peakMemory } from '../support/processes/peak-memory.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { createProject } from '../support/service/projects.ts'
import { type OwnServiceProcess, startOwnServiceProcess } from '../support/service/service-process.ts'
import { HOSTILE_ARCHIVES } from './hostile-archives.ts'

/** In bytes, for a service with API and worker. */
const MAX_MEMORY = 400_000_000
const MAX_WAIT_MS = 1_000
/** A machine that does other things lets anybody wait now and then; a hostile archive would do it each time. */
const TRIES = 3

let service: OwnServiceProcess

beforeAll(async () => {
  service = await startOwnServiceProcess({ flags: [] })
  await createProject(service, 'guest')
})

afterAll(() => service.close())

/** Asks whether the service lives, again and again until `work` has ended. @returns the longest wait, in milliseconds. */
async function longestWaitDuring(work: Promise<unknown>): Promise<number> {
  let [isOver, longest] = [false, 0]
  const over = work.finally(() => {
    isOver = true
  })
  do {
    const asked = performance.now()
    const answer = await fetch(`${service.url}/healthz`)
    expect(answer.status).toBe(200)
    longest = Math.max(longest, performance.now() - asked)
    await delay(20)
  } while (!isOver)
  await over
  return longest
}

const GZIP = { 'content-encoding': 'gzip' }

const WAYS = [
  ['an import', { headers: GZIP }],
  ['a dry run', { headers: GZIP, query: '?dryRun=true' }],
  ['an import job', { headers: { ...GZIP, prefer: 'respond-async' } }],
] as const

/** One for each way of taking memory: all ways in, and every process, read an archive with the same reader. */
const EVERYWHERE = new Set([
  'a first line without an end',
  'a table of empty objects',
  'an event whose row is nested without an end',
  'a row of very many values',
])

/** Nothing is wrong with it until it has been built, which only an import does, and the job that it becomes. */
const REFUSED_WHEN_BUILT = 'very many long checks, compared after they were built'

const cases = WAYS.flatMap(([way, how], first) =>
  HOSTILE_ARCHIVES.filter(
    ({ name }) => first === 0 || (process.env.EVERY_WAY ? name !== REFUSED_WHEN_BUILT : EVERYWHERE.has(name)),
  ).map((archive) => ({ way, how, ...archive })),
)

test.each(cases)('stops the service by $way of $name', async ({ bytes, says, how }) => {
  const body = bytes()
  await forgetPeakMemory(service.pid)
  let wait = Number.POSITIVE_INFINITY
  for (let tried = 0; tried < TRIES && wait >= MAX_WAIT_MS; tried += 1) {
    const sent = sendArchive(service.root, body, how)
    wait = await longestWaitDuring(sent)
    const { status, text } = await sent
    expect([400, 409], text).toContain(status)
    expect(text).toMatch(says)
    expect(text.length).toBeLessThan(1_000_000)
  }
  expect(wait).toBeLessThan(MAX_WAIT_MS)
  expect(await peakMemory(service.pid)).toBeLessThan(MAX_MEMORY)
})

test.each(HOSTILE_ARCHIVES.filter(({ name }) => EVERYWHERE.has(name)))(
  'fills the memory of who verifies $name',
  { timeout: 60_000 },
  async ({ bytes, says }) => {
    const cwd = await temporaryFolder()
    await writeFile(join(cwd, 'archive.jsonl.gz'), bytes())
    const { child, ended } = spawnWharf(['data:verify', 'archive.jsonl.gz'], { cwd, flags: [] })
    let peak = 0
    const watching = setInterval(() => {
      void peakMemory(child.pid ?? 0)
        .then((bytesNow) => {
          peak = Math.max(peak, bytesNow || 0)
        })
        .catch(() => undefined)
    }, 20)
    const { code, stderr } = await ended
    clearInterval(watching)
    expect(stderr).toMatch(says)
    expect(code).not.toBe(0)
    expect(peak).toBeLessThan(MAX_MEMORY)
  },
)
