/**
 * Works on jobs, or answers requests, in a process of its own: prints `ready` or its URL, and stops in order when a
 * line comes in. It runs what was built, which starts sooner than the source.
 *
 * Usage: run-part <api or worker> <environment as JSON> <timings as JSON>
 */
import { once } from 'node:events'
import { loadConfig } from '../../../dist/config.js'
import { createLogger } from '../../../dist/logger.js'
import { startService } from '../../../dist/service.js'

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
