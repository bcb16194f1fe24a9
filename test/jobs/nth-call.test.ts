import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { JOB_KINDS } from '../../src/contract/job.ts'
import type { JobKind } from '../../src/jobs/job.ts'
import type { LostCall } from '../support/faults/fail-point.ts'
import { isRedisInstalled } from '../support/servers/redis.ts'
import { ATTACHED_LOCATIONS, someLocations } from '../support/service/locations.ts'
import { isThorough } from '../support/thorough.ts'
import {
  type FailingService,
  withFailingAttached,
  withFailingCommits,
  withFailingFiles,
  withFailingPostgres,
  withFailingPostgresQueue,
  withFailingRedis,
} from './failing-service.ts'
import { prepareWholeJobs, type Run, type WholeJobs } from './whole-jobs.ts'

/** All calls take half an hour; otherwise some are tried. */
const tryAll = process.env.EVERY_CALL !== undefined
const TIME_LIMIT_MS = tryAll ? 60 * 60_000 : 120_000

const NEVER: LostCall = { nth: Number.POSITIVE_INFINITY, lost: 'call' }
const LOST: readonly LostCall['lost'][] = ['call', 'answer']

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
console.log(
  tryAll ? 'every call fails once' : `seed ${seed} (set SEED to try the same calls again, EVERY_CALL to try all)`,
)

/** Those in which an import is loaded beside what is there, by another exchange each. */
const ATTACHED = ATTACHED_LOCATIONS.filter(({ isOwned }) => isOwned)

const FAIL_POINTS: [what: string, start: () => Promise<FailingService>][] = [
  ['the file system', () => withFailingFiles('EIO')],
  ['PostgreSQL', withFailingPostgres],
]
if (tryAll) FAIL_POINTS.push(['a file system that is full', () => withFailingFiles('ENOSPC')])
const QUEUES: typeof FAIL_POINTS = [['the queue on PostgreSQL', withFailingPostgresQueue]]
if (isRedisInstalled) QUEUES.push(['the queue on Redis', withFailingRedis])
FAIL_POINTS.push(...(tryAll || isThorough ? QUEUES : QUEUES.slice(seed % QUEUES.length).slice(0, 1)))
for (const location of someLocations(seed, ATTACHED).filter(({ isAttached }) => isAttached)) {
  FAIL_POINTS.push([`the database of projects ${location.name}`, () => withFailingAttached(location)])
}
if (tryAll || isThorough) {
  for (const location of ATTACHED_LOCATIONS) {
    FAIL_POINTS.push(
      [`the file system for projects ${location.name}`, () => withFailingFiles('EIO', location)],
      [`PostgreSQL for projects ${location.name}`, () => withFailingPostgres(location)],
    )
  }
}

async function run(jobs: WholeJobs, kind: JobKind, lostCall: LostCall): Promise<Run> {
  try {
    return await jobs.run(kind, lostCall)
  } catch (cause) {
    throw new Error(`${kind}: not so where of call ${lostCall.nth} the ${lostCall.lost} is lost`, { cause })
  }
}

/**
 * Lets the first call fail, then the second, and so on, until there are no more.
 *
 * @param step goes on by so many each time. @returns how many there were.
 */
async function loseEach(jobs: WholeJobs, kind: JobKind, lost: LostCall['lost'], { first = 1, step = 1 } = {}) {
  for (let nth = first; ; nth += step) {
    const { outcome, calls } = await run(jobs, kind, { nth, lost })
    if (calls >= nth) continue
    expect(outcome).toBe('succeeded')
    return calls
  }
}

describe.each(FAIL_POINTS)('of the calls to %s', (_what, start) => {
  let service: FailingService
  let jobs: WholeJobs

  beforeAll(async () => {
    service = await start()
    jobs = await prepareWholeJobs(service)
  })

  afterAll(async () => {
    await jobs?.remove()
    await service?.close()
  })

  test.each(JOB_KINDS)(
    'whichever fails, a job (%s) is done whole or not at all',
    async (kind) => {
      const { outcome, calls } = await run(jobs, kind, NEVER)
      expect(outcome).toBe('succeeded')
      if (!tryAll) for (const lostCall of sampleOf(calls)) await run(jobs, kind, lostCall)
      else for (const lost of LOST) console.log(`${kind}: ${await loseEach(jobs, kind, lost)} calls, the ${lost} lost`)
    },
    TIME_LIMIT_MS,
  )
})

/** Where a commit is not answered, and how many there are at least. */
const COMMITS: [where: string, start: () => Promise<FailingService>, atLeast: number][] = [
  ["Wharf's database", withFailingCommits, 6],
  ...someLocations(seed + 1, ATTACHED)
    .filter(({ isAttached }) => isAttached)
    .map((location): (typeof COMMITS)[number] => [
      `the database of projects ${location.name}`,
      () => withFailingAttached(location, 'COMMIT'),
      1,
    ]),
]
if (tryAll || isThorough) {
  for (const location of ATTACHED)
    COMMITS.push([`Wharf's database for projects ${location.name}`, () => withFailingCommits(location), 3])
}

test.each(COMMITS)(
  'whichever commit of a transfer is not answered by %s, it is done whole or not at all',
  async (_, start, atLeast) => {
    const service = await start()
    const jobs = await prepareWholeJobs(service)
    onTestFinished(async () => {
      await jobs.remove()
      await service.close()
    })
    const some = isThorough || tryAll ? {} : { first: 1 + (seed % 8), step: 8 }
    expect(await loseEach(jobs, 'transfer', 'answer', some)).toBeGreaterThanOrEqual(atLeast)
  },
  TIME_LIMIT_MS,
)

/** Any call; if tests are thorough, the first and the last as well, and one more. */
function sampleOf(calls: number): readonly LostCall[] {
  const lost = fc.constantFrom(...LOST)
  const some = fc.sample(
    fc.record({ nth: fc.noBias(fc.integer({ min: isThorough ? 2 : 1, max: isThorough ? calls - 1 : calls })), lost }),
    {
      numRuns: isThorough ? 2 : 1,
      seed,
    },
  )
  const [first = 'call', last = 'call'] = fc.sample(lost, { numRuns: 2, seed })
  return isThorough ? [{ nth: 1, lost: first }, ...some, { nth: calls, lost: last }] : some
}
