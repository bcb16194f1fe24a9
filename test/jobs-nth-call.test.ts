import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { JOB_KINDS, type JobKind } from '../src/jobs/job.ts'
import {
  type FailingService,
  withFailingFiles,
  withFailingPostgres,
  withFailingPostgresQueue,
  withFailingRedis,
} from './support/failing-service.ts'
import type { Fault } from './support/nth-call.ts'
import { isRedisInstalled } from './support/redis.ts'
import { prepareWholeJobs, type Run, type WholeJobs } from './support/whole-jobs.ts'

/** All calls take half an hour; otherwise the first, the last, and some in between are tried. */
const tryAll = process.env.EVERY_CALL !== undefined
const SAMPLED = 2
const TIME_LIMIT_MS = tryAll ? 60 * 60_000 : 120_000

const NEVER: Fault = { nth: Number.POSITIVE_INFINITY, lost: 'call' }
const LOST: readonly Fault['lost'][] = ['call', 'answer']

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
console.log(
  tryAll ? 'every call fails once' : `seed ${seed} (set SEED to try the same calls again, EVERY_CALL to try all)`,
)

const SEAMS: [what: string, start: () => Promise<FailingService>][] = [
  ['the file system', () => withFailingFiles('EIO')],
  ['PostgreSQL', withFailingPostgres],
  ['the queue on PostgreSQL', withFailingPostgresQueue],
]
if (tryAll) SEAMS.push(['a file system that is full', () => withFailingFiles('ENOSPC')])
if (isRedisInstalled) SEAMS.push(['the queue on Redis', withFailingRedis])

describe.each(SEAMS)('of the calls to %s', (_what, start) => {
  let service: FailingService
  let jobs: WholeJobs

  beforeAll(async () => {
    service = await start()
    jobs = await prepareWholeJobs(service)
  })

  afterAll(() => service?.close())

  const run = async (kind: JobKind, fault: Fault): Promise<Run> => {
    try {
      return await jobs.run(kind, fault)
    } catch (cause) {
      throw new Error(`${kind}: not so where of call ${fault.nth} the ${fault.lost} is lost`, { cause })
    }
  }

  test.each(JOB_KINDS)(
    'whichever fails, a job (%s) is done whole or not at all',
    async (kind) => {
      const { outcome, calls } = await run(kind, NEVER)
      expect(outcome).toBe('succeeded')
      if (!tryAll) {
        for (const fault of sampleOf(calls)) await run(kind, fault)
        return
      }
      for (const lost of LOST) {
        let went: Run
        let nth = 0
        do {
          nth += 1
          went = await run(kind, { nth, lost })
        } while (went.calls >= nth)
        expect(went.outcome).toBe('succeeded')
        console.log(`${kind}: ${nth - 1} calls, the ${lost} lost`)
      }
    },
    TIME_LIMIT_MS,
  )
})

/** The first call, the last, and some in between. */
function sampleOf(calls: number): readonly Fault[] {
  const lost = fc.constantFrom(...LOST)
  const some = fc.sample(fc.record({ nth: fc.noBias(fc.integer({ min: 2, max: calls - 1 })), lost }), {
    numRuns: SAMPLED,
    seed,
  })
  const [first = 'call', last = 'call'] = fc.sample(lost, { numRuns: 2, seed })
  return [{ nth: 1, lost: first }, ...some, { nth: calls, lost: last }]
}
