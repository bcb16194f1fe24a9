import type { RowsPolicy } from '../../archive/assert-rows.ts'
import { compressArchive } from '../../archive/compress-archive.ts'
import { lacksRows } from '../../contract/completeness.ts'
import type { KeptArchive } from '../../contract/kept-archive.ts'
import { nameTransaction } from '../../database/session-name.ts'
import type { TransferRequest } from '../../jobs/catalogue.ts'
import { copied } from '../../lib/borrowed-bytes.ts'
import { paced } from '../../lib/paced.ts'
import { tap } from '../../lib/tap.ts'
import type { NotInArchive } from '../../transfer/export/open-export.ts'
import type { RemoteServer } from '../../transfer/remote/remote-server.ts'
import { findKept, keepArchive, type WithArchive } from '../kept-archive.ts'
import { importThere } from '../target-archive.ts'
import { withRemote } from '../with-remote.ts'
import type { AttemptContext } from './processor.ts'

/** How a project goes to another server. */
export interface Push {
  readonly dsn: string
  readonly withArchive: WithArchive
}

/**
 * Moves a project to another server. Its archive is kept here until the transfer has ended, goes there as an upload, and is
 * imported by a job: neither a lost connection nor the end of a worker makes anything be read, sent or imported again that has
 * been. Where one of the two cannot keep the archive, it is streamed; then the next attempt begins anew.
 */
export async function pushArchive(context: AttemptContext, request: TransferRequest, { dsn, withArchive }: Push) {
  const { container, sessionName, authorise, succeed } = context
  await withRemote(context, dsn, context.secrets.target, async (server, targetSlug) => {
    await assertThere(server, targetSlug)
    const kept = (await findKept(context, request)) ?? (await keepArchive(context, request, withArchive))
    const [projects, notExported] = kept
      ? [await sendKept(context, request, { server, targetSlug, kept }), kept.notExported]
      : await withArchive(async (archive, missing) => {
          const bytes = tap(copied(compressArchive(archive)), ({ length }) => context.progress.addBytes(length))
          return [await server.sendArchive(bytes, targetSlug, policyOf(missing)), missing] as const
        })
    const complete = notExported.length === 0
    const result = { projects, complete, notExported, lacksRows: notExported.some(lacksRows) }
    await container.control.prisma.$transaction(async (tx) => {
      await nameTransaction(tx, sessionName)
      await authorise(tx)
      await succeed(tx, result)
    })
  })
}

/** Nobody waits for a long export to hear that its target is not there. @throws {AppError} REMOTE_FAILED */
async function assertThere(server: RemoteServer, slug: string): Promise<void> {
  const { body } = await server.call({ path: `/projects/${encodeURIComponent(slug)}`, statuses: [200, 403] })
  await body.dump()
}

const policyOf = (notExported: readonly NotInArchive[]): RowsPolicy => ({
  allowIncomplete: notExported.some(lacksRows),
})

/** Where the archive goes. */
interface Sending {
  readonly server: RemoteServer
  readonly targetSlug: string
  readonly kept: KeptArchive
}

async function sendKept(context: AttemptContext, request: TransferRequest, sending: Sending) {
  const { container, progress, signal, job } = context
  const { server, targetSlug, kept } = sending
  const rate = request.maxBytesPerSecond
  const read = (start: number, end: number): AsyncIterable<Buffer> => {
    const bytes = container.artifacts.read(kept.key, { start, end })
    return rate ? paced(bytes, rate, signal) : bytes
  }
  const imported = await importThere(context, request, { ...sending, ...policyOf(kept.notExported), read })
  if (imported) return imported
  container.logger.warn(
    { jobId: job.id, attempt: job.attempt },
    'the target keeps no upload, so the archive is streamed: a lost connection ends the transfer',
  )
  progress.update({ phase: 'sending', bytes: 0 })
  const bytes = tap(read(0, kept.bytes), ({ length }) => progress.addBytes(length))
  return server.sendArchive(bytes, targetSlug, policyOf(kept.notExported))
}
