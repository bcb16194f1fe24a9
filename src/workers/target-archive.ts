import type { z } from 'zod'
import type { RowsPolicy } from '../archive/assert-rows.ts'
import { fromServer } from '../contract/from-server.ts'
import { jobResultSchema } from '../contract/job.ts'
import type { KeptArchive } from '../contract/kept-archive.ts'
import type { TransferRequest } from '../jobs/catalogue.ts'
import { otherAnswer } from '../transfer/remote/remote-failure.ts'
import { failureOf, type RemoteJob, rowsOf, waitForJob } from '../transfer/remote/remote-job.ts'
import type { RemoteServer } from '../transfer/remote/remote-server.ts'
import {
  askForImport,
  beginUpload,
  findOffset,
  giveUpUpload,
  sendUpload,
  takesNoUpload,
  uploadGone,
} from '../transfer/remote/remote-upload.ts'
import { noteKept } from './kept-archive.ts'
import type { AttemptContext } from './processors/processor.ts'
import { withRemote } from './with-remote.ts'

/** How long letting go of an upload may take, in milliseconds. */
const REMOVAL_MS = 10_000

interface Sending extends RowsPolicy {
  readonly server: RemoteServer
  readonly targetSlug: string
  readonly kept: KeptArchive
  readonly read: (start: number, end: number) => AsyncIterable<Buffer>
}

const imported = fromServer(jobResultSchema.pick({ projects: true }))

/** What was begun there. */
interface Begun {
  readonly uploadId: string
  /** How many bytes of it had arrived. */
  readonly arrived: number
  /** The import, once it was asked for. */
  job: RemoteJob | undefined
}

/**
 * Has the target of a transfer import an archive that is kept here. It goes on with the upload, or the job there, of an attempt
 * before this one.
 *
 * @returns what was imported; undefined where the target takes no upload, has no room for it, or no worker.
 * @throws {AppError} REMOTE_FAILED, INCOMPLETE
 */
export async function importThere(
  context: AttemptContext,
  request: TransferRequest,
  sending: Sending,
): Promise<z.output<typeof imported>['projects'] | undefined> {
  const { container, progress, signal } = context
  const { server } = sending
  const begun = (await findBegun(sending, signal)) ?? (await begin(context, request, sending))
  if (!begun) return undefined
  giveUpWhenEnded(context, request, begun)
  if (!(await send(context, sending, begun))) return undefined
  begun.job ??= await askForImport(server, { ...sending, ...begun }, signal)
  if (!begun.job) throw uploadGone(server)
  const ended = await waitForJob(server, begun.job, {
    queuedMs: container.jobTimings.remoteQueueMs,
    onProgress: (seen) => progress.update({ phase: 'loading', ...rowsOf(seen) }),
    signal,
  })
  if (!ended) {
    await giveUp(server, begun)
    return undefined
  }
  begun.job = ended
  if (ended.status !== 'succeeded') throw failureOf(server, 'import', ended)
  const result = imported.safeParse(ended.result).data
  if (!result) throw otherAnswer(server.origin)
  return result.projects
}

/** What an attempt before this one has left there: an upload, or the import that has taken it. */
async function findBegun(sending: Sending, signal: AbortSignal): Promise<Begun | undefined> {
  const { server, kept } = sending
  const { upload: uploadId } = kept
  if (uploadId === undefined) return undefined
  const arrived = await findOffset(server, uploadId, signal)
  if (arrived !== undefined) return { uploadId, arrived, job: undefined }
  const job = await askForImport(server, { ...sending, uploadId }, signal)
  return job && job.status !== 'cancelled' ? { uploadId, arrived: kept.bytes, job } : undefined
}

/** Begins an upload, and notes that. @returns undefined where the target takes none. */
async function begin(
  context: AttemptContext,
  request: TransferRequest,
  { server, kept }: Sending,
): Promise<Begun | undefined> {
  const uploadId = await orNone(beginUpload(server, kept.bytes, context.signal))
  if (uploadId === undefined) return undefined
  await noteKept(context, request, { ...kept, upload: uploadId })
  return { uploadId, arrived: 0, job: undefined }
}

/** Sends what is missing of an upload. @returns whether all of it is there; if not, the target has no room for it. */
async function send(
  { progress, signal }: AttemptContext,
  { server, kept, read }: Sending,
  { uploadId, arrived }: Begun,
): Promise<boolean> {
  const onArrived = (bytes: number): void => progress.update({ phase: 'sending', bytes, stage: null, table: null })
  progress.update({ rowsTotal: null })
  onArrived(arrived)
  const sending = { uploadId, bytes: kept.bytes, offset: arrived, read, onArrived, signal }
  return (await orNone(sendUpload(server, sending).then(() => true))) ?? false
}

const orNone = <T>(calls: Promise<T>): Promise<T | undefined> =>
  calls.catch((error: unknown) => {
    if (takesNoUpload(error)) return undefined
    throw error
  })

/** By a connection of its own: that of the attempt is closed by then. */
function giveUpWhenEnded({ container, secrets, whenEnded }: AttemptContext, { target }: TransferRequest, begun: Begun) {
  whenEnded(async () => {
    if (!('dsn' in target) || begun.job?.status === 'succeeded') return
    const signal = AbortSignal.timeout(REMOVAL_MS)
    await withRemote({ container, signal }, target.dsn, secrets.target, (server) => giveUp(server, begun))
  })
}

const giveUp = (server: RemoteServer, { uploadId, job }: Begun): Promise<void> =>
  giveUpUpload(server, uploadId, job?.id)
