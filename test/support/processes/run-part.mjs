/**
 * Works on jobs, or answers requests, in a process of its own: prints `ready` or its URL, and stops in order when a
 * line comes in.
 *
 * Usage: run-part <api or worker> <environment as JSON> <timings as JSON>
 */
import { once } from 'node:events'
import { loadConfig } from '../../../src/config.ts'
import { createLogger } from '../../../src/logger.ts'
import { startService } from '../../../src/service.ts'

const [part, environment = '', timings = ''] = process.argv.slice(2)
const config = loadConfig(JSON.parse(environment))
const jobTimings = JSON.parse(timings)
const service = await startService({
  config,
  logger: createLogger('info'),
  shared: false,
  parts: [part],
  jobTimings,
})
console.log(service.url ?? 'ready')
await once(process.stdin, 'data')
await service.close()
console.log('stopped')
process.exit()
