import { expect, test } from 'vitest'
import { runChaos } from '../../chaos/run-chaos.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { isRedisInstalled } from '../support/servers/redis.ts'
import { isThorough } from '../support/thorough.ts'

/** Longer than what was under way takes to end on a busy machine. */
const LIMIT_MS = 600_000

test.skipIf(!isRedisInstalled)(
  'nothing is lost, left over or answered wrongly while all servers are killed, frozen and stopped at random',
  async () => {
    const faults: string[] = []
    const folder = await temporaryFolder()
    const { violations, counts } = await runChaos({
      seed: 1,
      seconds: isThorough ? 30 : 10,
      folder,
      report: (what) => faults.push(what),
    })
    expect(violations, faults.join('\n')).toEqual([])
    expect(counts.get('writes to accounts: done')).toBeGreaterThan(0)
    expect(faults.length).toBeGreaterThan(3)
  },
  LIMIT_MS,
)
