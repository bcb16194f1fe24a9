/**
 * Ends, kills and freezes all servers of a service at random while clients use it, and checks that nothing is lost; exits
 * with 1 where something is.
 *
 * Usage: npm run chaos -- [--seconds 300] [--seed 1] [--keep]
 */
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { runChaos } from './run-chaos.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
  },
})
const [seconds, seed] = [Number(values.seconds), Number(values.seed)]
if (!(seconds > 0) || !Number.isInteger(seed)) throw new Error('--seconds takes a number, --seed a whole number')

await promisify(execFile)('node', ['scripts/bundle.mjs'])
const folder = await mkdtemp(join(tmpdir(), 'wharf-chaos-'))
await chmod(folder, 0o755)
const began = performance.now()
const report = (what: string): void => console.log(`${((performance.now() - began) / 1_000).toFixed(1)} s: ${what}`)

const { violations, counts } = await runChaos({ seed, seconds, folder, report })
for (const [what, times] of [...counts].toSorted()) console.log(`${what}: ${times}`)
for (const violation of violations.slice(0, 100)) console.error(`VIOLATION: ${violation}`)
if (violations.length > 0) process.exitCode = 1
console.log(
  `seed ${seed}, ${seconds} s: ${violations.length === 0 ? 'nothing lost' : `${violations.length} violations`}`,
)
if (values.keep || violations.length > 0) console.log(`what the servers said is in ${folder}`)
else await rm(folder, { recursive: true, force: true })
