import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { MAX_CACHE_BYTES } from '../src/content/response-cache.ts'
import { BOUNDS, type Measurement } from './bounds.ts'
import { startBareHandler } from './support/bare-handler.ts'
import type { BenchRun } from './support/bench-run.ts'
import { transferProject } from './support/job-client.ts'
import { type Polled, pollApart } from './support/poll-apart.ts'
import { printTable } from './support/print-table.ts'
import { SAMPLE_SCHEMA, SAMPLE_TABLE } from './support/sample-table.ts'
import type { BenchService } from './support/start-service.ts'
import { quantile } from './support/statistics.ts'
import { createProject, exportToFile, importFile, PROJECT } from './support/wharf-client.ts'

const CLIENTS = 180
/** 20 more ask for the same two pages again and again, from a process of their own, by which 304s are timed: so many for each. */
const POLLING_CLIENTS = 10
const SECONDS = 60
/** Before the memory is looked at for the first time: so long has the service done the same, and been left alone. */
const WARM_UP_SECONDS = 20
const REST_MS = 10_000
/** What a client does between two requests, at most. */
const MAX_PAUSE_MS = 300

/** Nobody writes to it: who polls it is told that nothing has changed. */
const STILL = 'still'
/** What the transfers replace. */
const COPY = 'copy'

type Act = 'poll' | 'conditional' | 'page' | 'key' | 'insert' | 'update' | 'delete'

/** How often each comes, of a hundred. */
const ACTS: readonly (readonly [Act, number])[] = [
  ['poll', 40],
  ['conditional', 20],
  ['page', 15],
  ['key', 10],
  ['insert', 6],
  ['update', 6],
  ['delete', 3],
]

/** What came of it. */
interface Tally {
  /** By the act and the status. */
  readonly answers: Map<string, number>
  /** What is no answer that was to be expected. */
  readonly failures: string[]
}

/**
 * Measures clients that read and write a stage, each over a connection of its own, while the same process exports it, imports
 * it and transfers it to another project, again and again.
 */
export async function measureMixed(bench: BenchRun, seconds = SECONDS): Promise<Measurement[]> {
  return bench.withService(async (service) => {
    await createProject(service, SAMPLE_SCHEMA, STILL)
    await createProject(service, SAMPLE_SCHEMA, COPY)
    const archive = join(bench.outputDir, 'mixed')
    await exportToFile(service, 'gzip', archive)
    await fillCache(service)
    const files = { archive, output: join(bench.outputDir, 'mixed-again') }
    await mixed(service, files, Math.min(seconds, WARM_UP_SECONDS))
    await sleep(REST_MS)
    const before = await service.memoryBytes()
    const { tally, jobs, polls } = await mixed(service, files, seconds)
    await sleep(REST_MS)
    return report({ tally, jobs, polls }, { before, after: await service.memoryBytes() })
  })
}

/** Lets the service keep as many answers as it ever does, which else would look like memory that it does not give back. */
async function fillCache({ url, headers }: BenchService): Promise<void> {
  const dispatcher = new Agent({ connections: CLIENTS, pipelining: 1 })
  let [first, bytes] = [0, 0]
  const read = async (): Promise<void> => {
    while (bytes < MAX_CACHE_BYTES) {
      const path = `${pageFrom(first++ % 50_000)}&limit=${20 - Math.floor(first / 50_000)}`
      const { body } = await request(url + path, { dispatcher, headers })
      bytes += (await body.arrayBuffer()).byteLength
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, read))
  await dispatcher.close()
}

/** What came of everybody. */
interface Outcome {
  readonly tally: Tally
  /** How often each has been done. */
  readonly jobs: Readonly<Record<string, number>>
  readonly polls: Polls
}

/** Of Wharf, and of a bare Express handler beside it, which tells what the machine alone makes of a 304 meanwhile. */
interface Polls {
  /** Of a stage to which nobody writes. */
  readonly still: Polled
  /** Of the stage to which others write. */
  readonly written: Polled
  readonly bare: Polled
}

/** Lets everybody do what they do, at once. */
async function mixed(
  service: BenchService,
  { archive, output }: { readonly archive: string; readonly output: string },
  seconds: number,
): Promise<Outcome> {
  const tally: Tally = { answers: new Map(), failures: [] }
  const jobs = { export: 0, import: 0, transfer: 0 }
  const end = performance.now() + seconds * 1000
  const again = async (name: keyof typeof jobs, work: () => Promise<unknown>): Promise<void> => {
    while (performance.now() < end) {
      await work()
      jobs[name] += 1
    }
  }
  const [polls] = await Promise.all([
    pollApartFromOthers(service, Date.now() + seconds * 1000),
    again('export', () => exportToFile(service, 'gzip', output)),
    again('import', () => importFile(service, archive)),
    again('transfer', () => transferProject(service, { source: PROJECT, target: COPY })),
    ...Array.from({ length: CLIENTS }, (_, client) => act(service, client, end, tally)),
  ])
  return { tally, jobs, polls }
}

/** @param endsAt as `Date.now()` has it: with the others, since 304s of a service at rest would count among theirs. */
async function pollApartFromOthers({ url, headers }: BenchService, endsAt: number): Promise<Polls> {
  const [ofStill, ofWritten] = [url + STILL_PAGE, url + WRITTEN_PAGE]
  const first = await request(ofStill, { headers })
  await first.body.text()
  const known = { ...headers, 'x-service-ref': String(first.headers['x-service-ref']) }
  const bareHandler = await startBareHandler(ofStill, known)
  try {
    const targets = [ofStill, ofWritten, bareHandler.url].map((target) => ({ url: target, headers }))
    const how = { connections: POLLING_CLIENTS, endsAt, maxPauseMs: MAX_PAUSE_MS }
    const [still, written, bare] = await pollApart(targets, how)
    if (!still || !written || !bare) throw new Error('not all targets were polled')
    return { still, written, bare }
  } finally {
    await bareHandler.stop()
  }
}

/** One client, until the time is over. */
async function act({ url, headers }: BenchService, client: number, end: number, tally: Tally): Promise<void> {
  const dispatcher = new Agent({ connections: 1, pipelining: 1 })
  const known = new Map<string, string>()
  for (let next = 0; performance.now() < end; next += 1) {
    await sleep(Math.random() * MAX_PAUSE_MS)
    const chosen = choose()
    const { method, path, body } = requestOf(chosen, client, next)
    const reference = method === 'GET' ? known.get(path) : undefined
    try {
      const answer = await request(url + path, {
        dispatcher,
        method,
        headers: {
          ...headers,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(reference !== undefined && { 'x-service-ref': reference }),
        },
        body: body ?? null,
      })
      const text = await answer.body.text()
      const { statusCode: status } = answer
      const name = `${chosen} ${status}`
      tally.answers.set(name, (tally.answers.get(name) ?? 0) + 1)
      if (chosen === 'poll' || chosen === 'conditional') known.set(path, String(answer.headers['x-service-ref']))
      // Writes are refused while an import replaces the stage; nothing else is.
      const isExpected = status < 400 || (status === 409 && method !== 'GET')
      if (!isExpected) tally.failures.push(`${method} ${path} ${status}: ${text.slice(0, 300)}`)
    } catch (error) {
      tally.failures.push(`${method} ${path}: ${String(error)}`)
    }
  }
  await dispatcher.close()
}

function choose(): Act {
  let left = Math.random() * 100
  for (const [name, share] of ACTS) {
    left -= share
    if (left < 0) return name
  }
  return 'poll'
}

interface Sent {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: string
}

const table = `/content/${PROJECT}/live/${SAMPLE_TABLE}`

/** What is asked for again and again. */
const [STILL_PAGE, WRITTEN_PAGE] = [
  `/content/${STILL}/live/${SAMPLE_TABLE}?order=id&limit=20`,
  `${table}?order=id&limit=20&id=gt.0`,
]

const pageFrom = (id: number): string => `${table}?order=id&id=gte.${id}`

/** Rows that clients insert have negative ids, so that no two clients write the same. */
function requestOf(chosen: Act, client: number, next: number): Sent {
  const some = Math.floor(Math.random() * 50_000)
  const own = -(1 + client * 1_000_000 + next)
  switch (chosen) {
    case 'poll':
      return { method: 'GET', path: STILL_PAGE }
    case 'conditional':
      return { method: 'GET', path: WRITTEN_PAGE }
    case 'page':
      return { method: 'GET', path: `${pageFrom(some)}&limit=20` }
    case 'key':
      return { method: 'GET', path: `${table}?id=eq.${some}` }
    case 'insert':
      return { method: 'POST', path: table, body: JSON.stringify(newRow(own)) }
    case 'update':
      return { method: 'PATCH', path: `${table}?id=eq.${some}`, body: JSON.stringify({ quantity: next }) }
    case 'delete':
      return { method: 'DELETE', path: `${table}?id=lt.${-client * 1_000_000}&id=gte.${own}` }
  }
}

const newRow = (id: number) => ({
  id,
  token: '00000000-0000-4000-8000-000000000000',
  name: `Entry ${id}`,
  body: 'Written while others read, export and import.',
  price: 1.5,
  created_at: '2024-01-01T00:00:00Z',
  active: true,
  attributes: { tags: ['mixed'] },
})

function report(
  { tally: { answers, failures: failed }, jobs, polls }: Outcome,
  { before, after }: { readonly before: number; readonly after: number },
): Measurement[] {
  const failures = [...failed, ...Object.values(polls).flatMap((polled) => polled.failures)]
  printTable(
    [`${CLIENTS} connections`, 'number'],
    [
      ...[...answers].toSorted(([a], [b]) => a.localeCompare(b)).map(([name, count]) => [name, String(count)]),
      ...Object.entries(jobs).map(([name, count]) => [`${name}s`, String(count)]),
    ],
  )
  const milliseconds = (polled: Polled, share: number): string => quantile(polled.unchangedMs, share).toFixed(0)
  const names = {
    still: 'a stage nobody writes to',
    written: 'the one others write to',
    bare: 'a bare Express handler',
  }
  printTable(
    [`304s for ${POLLING_CLIENTS} more each`, 'number', 'median, ms', 'p99, ms'],
    (['still', 'written', 'bare'] as const).map((name) => [
      ...[names[name], String(polls[name].unchangedMs.length)],
      ...[0.5, 0.99].map((share) => milliseconds(polls[name], share)),
    ]),
  )
  for (const failure of failures.slice(0, 10)) console.log(failure)
  const p99 = quantile([...polls.still.unchangedMs, ...polls.written.unchangedMs], 0.99)
  const { mixed: all, mixedDelay, mixedMemory } = BOUNDS
  return [
    {
      sentence: all.sentence,
      measured: `${failures.length} failures`,
      holds: failures.length === 0 && Object.values(jobs).every((count) => count > 0),
    },
    { sentence: mixedDelay.sentence, measured: `${p99.toFixed(0)} ms`, holds: p99 < mixedDelay.maxMs },
    {
      sentence: mixedMemory.sentence,
      measured: `${megabytes(before)} before, ${megabytes(after)} after`,
      holds: after <= before * mixedMemory.maxRatio,
    },
  ]
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`
