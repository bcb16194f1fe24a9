/**
 * Says that it is ready, and when a line comes in takes the lock of a data folder; prints `locked`, or the error's
 * code. Then it stays.
 *
 * Usage: run-data-folder-lock <data folder>
 */
import { once } from 'node:events'
import { lockDataFolder } from '../../../src/data-folder/lock.ts'
import { isAppError } from '../../../src/errors.ts'

const [dataDir] = process.argv.slice(2)
if (!dataDir) throw new Error('usage: run-data-folder-lock <data folder>')
console.log('ready')
await once(process.stdin, 'data')
const outcome = await lockDataFolder(dataDir).then(
  () => 'locked',
  (error: unknown) => (isAppError(error) ? error.code : String(error)),
)
console.log(outcome)
await once(process.stdin, 'end')
