import { expect, test } from 'vitest'
import { runChaos } from '../../chaos/run-chaos.ts'
import { bundled } from '../support/processes/bundled.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { isRedisInstalled } from '../support/servers/redis.ts'
import { isThorough } from '../support/thorough.ts'

/** Thorough tests wait as long for what died as in production; a lease is longer than anything is frozen. */
const TIMINGS = { leaseMs: 7_000, sweepMs: 1_500, lockMs: 7_000, stalledMs: 1_000, retryMs: [1_000, 4_000, 8_000] }

/** Longer than what was under way takes to end on a busy machine. */
const LIMIT_MS = 600_000

const quickProgram = () => ({
  path: bundled('run-main'),
  environment: { TEST_TIMINGS: JSON.stringify(TIMINGS) },
})

test.skipIf(!isRedisInstalled)(
  'nothing is lost, left over or answered wrongly while all servers are killed, frozen and stopped at random',
  async () => {
    const faults: string[] = []
    const folder = await temporaryFolder()
    const { violations, counts } = await runChaos({
      seed: 1,
      seconds: isThorough ? 30 : 6,
      folder,
      ...(isThorough ? {} : { program: quickProgram() }),
      report: (what) => faults.push(what),
    })
    expect(violations, faults.join('\n')).toEqual([])
    expect(counts.get('writes to accounts: done')).toBeGreaterThan(0)
    expect(faults.length).toBeGreaterThan(3)
  },
  LIMIT_MS,
)
