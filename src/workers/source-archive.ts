import type { RowsPolicy } from '../archive/assert-rows.ts'
import type { ExportSelection } from '../contract/export.ts'
import type { SourceArchive } from '../contract/source-archive.ts'
import type { TransferRequest } from '../jobs/catalogue.ts'
import { forgetParts } from '../jobs/fetched-archive.ts'
import { specify } from '../jobs/transitions.ts'
import { persist } from '../transfer/remote/patience.ts'
import { askForArchive, findArchive, removeArchive, waitForArchive } from '../transfer/remote/remote-archive.ts'
import { rowsOf } from '../transfer/remote/remote-job.ts'
import type { RemoteServer } from '../transfer/remote/remote-server.ts'
import type { AttemptContext } from './processors/processor.ts'
import { Stopped } from './stopped.ts'
import { withRemote } from './with-remote.ts'

/** How long letting go of an archive may take, in milliseconds. */
const REMOVAL_MS = 10_000

interface Source extends RowsPolicy {
  readonly request: TransferRequest
  readonly selection: ExportSelection
}

/**
 * Finds the archive that the source of a transfer has made for an earlier attempt, or has it make one. It is removed there
 * once the job has ended.
 *
 * @returns undefined where the source makes none, though it may stream the same.
 * @throws {AppError} as `waitForArchive`.
 */
export async function findSourceArchive(
  context: AttemptContext,
  server: RemoteServer,
  { request, selection, allowIncomplete }: Source,
): Promise<SourceArchive | undefined> {
  const { job, container, progress, signal } = context
  const known = request.archive
  if (known && (await findArchive(server, known.jobId, signal))) {
    removeWhenEnded(context, request, known.jobId)
    return known
  }
  const { maxBytesPerSecond } = request
  const askOnce = (key: string) => askForArchive(server, { selection, allowIncomplete, maxBytesPerSecond, key })
  // A server that was never reached is said to be out of reach at once.
  const ask = (key: string) => (job.attempt > 1 ? persist(() => askOnce(key), signal) : askOnce(key))
  const asked = await ask(`transfer-${job.id}`)
  // Of an attempt before this one, whose archive was of no use.
  const isUsedUp = asked && (asked.status === 'failed' || asked.status === 'cancelled' || known?.jobId === asked.id)
  const making = isUsedUp ? await ask(`transfer-${job.id}-${job.attempt}`) : asked
  if (!making) return undefined
  removeWhenEnded(context, request, making.id)
  const archive = await waitForArchive(server, making, {
    queuedMs: container.jobTimings.remoteQueueMs,
    onProgress: (seen) => progress.update({ phase: 'reading', ...rowsOf(seen) }),
    signal,
  })
  const log = container.logger.child({ jobId: job.id, attempt: job.attempt })
  if (!archive) {
    log.warn('the source makes no archive that can be fetched, so it streams it: a lost connection ends the transfer')
    await removeArchive(server, making.id)
    return undefined
  }
  const { prisma } = container.control
  await forgetParts(prisma, job.id)
  const noted = await specify(prisma, job, { request: { ...request, archive }, projectIds: job.projectIds })
  if (!noted) throw new Stopped('lost')
  return archive
}

/** By a connection of its own: that of the attempt is closed by then. */
function removeWhenEnded({ container, secrets, whenEnded }: AttemptContext, { source }: TransferRequest, id: string) {
  whenEnded(async () => {
    if (!('dsn' in source)) return
    const signal = AbortSignal.timeout(REMOVAL_MS)
    await withRemote({ container, signal }, source.dsn, secrets.source, (server) => removeArchive(server, id))
  })
}
