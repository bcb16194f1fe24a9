/**
 * Spools an archive of some megabytes; prints what that ended with.
 *
 * Usage: run-spool <folder>
 */
import { isAppError } from '../../../src/errors.ts'
import { openArchive, receiveArchive } from '../../../src/transfer/import/receive-archive.ts'
import { buildArchive, column } from '../archives/archive-builder.ts'
import { streamOf } from '../archives/archive-sample.ts'

const [folder] = process.argv.slice(2)
if (!folder) throw new Error('usage: run-spool <folder>')
const rows = Array.from({ length: 3_000 }, () => ['x'.repeat(1_000)])
const archive = buildArchive({
  slug: 'shop',
  stages: [{ tables: [{ name: 't', columns: [column('c', 'text')], rows }] }],
})
const received = await openArchive(folder)
const outcome = await receiveArchive(received, streamOf(archive), {}).then(
  () => 'spooled',
  (error: unknown) => (isAppError(error) ? error.code : String(error)),
)
await received.file.remove()
console.log(outcome)
