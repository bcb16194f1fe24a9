/**
 * Starts the embedded PostgreSQL in a data folder, prints its URLs as a line of JSON, and stops it when a line comes
 * in.
 *
 * Usage: run-embedded-postgres <data folder>
 */
import { once } from 'node:events'
import { startEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.ts'
import { createLogger } from '../../../src/logger.ts'

const [dataDir] = process.argv.slice(2)
if (!dataDir) throw new Error('usage: run-embedded-postgres <data folder>')
const { url, superuserUrl, stop } = await startEmbeddedPostgres({ dataDir, logger: createLogger('warn') })
console.log(JSON.stringify({ url, superuserUrl }))
await once(process.stdin, 'data')
await stop()
console.log('stopped')
process.exit()
