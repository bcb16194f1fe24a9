import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { Queryable } from '../../database/database.ts'
import { conflict } from '../../errors.ts'
import { type ArtifactServices, beginArtifact, type NewArtifact, publishArtifact } from '../job-artifacts.ts'
import { assertFollows, lockUpload, tooMuch, touchUpload, type Upload } from './upload.ts'

/** How much is received before it is safe from the end of this process. */
const PART_BYTES = 64 * 1024 * 1024

/** How long to wait for another process that is receiving the same upload, in milliseconds, and how often to look. */
const PATIENCE_MS = 5_000
const LOOK_MS = 100

/** For how long nothing more has come where all has that will, in milliseconds: what a busy machine has not read yet is on its way. */
const QUIET_MS = 100

/** A request whose bytes are being kept. */
interface Receiving {
  readonly stop: () => void
  readonly ended: Promise<unknown>
  /** How long the next bytes have been waited for, in milliseconds. */
  readonly waitedMs: () => number
}

/** What a client sends of an upload. */
export interface ArrivingBytes {
  readonly bytes: AsyncIterable<Buffer>
  /** Ends the waiting for more: the reader throws the reason. */
  readonly stop: (reason: Error) => void
}

export interface UploadReceiver {
  /**
   * Keeps what comes, also where the connection is lost in the middle: then, all that had come until that.
   *
   * @param upload as it was found once it had settled.
   * @param offset where it begins.
   * @returns how many bytes are there now.
   * @throws {AppError} CONFLICT where it does not follow what has come; BODY_TOO_LARGE; NOT_FOUND where the upload was
   *   removed meanwhile; as the store does; and what reading throws.
   */
  receive(upload: Upload, offset: number, arriving: ArrivingBytes): Promise<number>
  /**
   * Ends what is receiving this upload, so that all that has come is counted: who asks for it, or sends the next part,
   * has lost the connection before.
   */
  settle(uploadId: string): Promise<void>
}

export function createUploadReceiver(services: ArtifactServices): UploadReceiver {
  const receiving = new Map<string, Receiving>()

  async function settle(uploadId: string): Promise<void> {
    const current = receiving.get(uploadId)
    const untilMs = performance.now() + PATIENCE_MS
    const goesOn = (): boolean => receiving.get(uploadId) === current && performance.now() < untilMs
    while (current && goesOn()) {
      await sleep(QUIET_MS / 4)
      // Timers come before what has arrived: where this process had no time, that is read first.
      await setImmediate()
      if (current.waitedMs() >= QUIET_MS) break
    }
    current?.stop()
    await current?.ended
    await untilWritten(services.control.prisma, uploadId)
  }

  return {
    settle,
    async receive(upload, offset, arriving) {
      const { bytes, waitedMs } = timed(arriving.bytes)
      const kept = keepParts(services, upload, offset, bytes)
      const stop = (): void => arriving.stop(conflict('the upload goes on over another connection'))
      const entry = { stop, ended: Promise.allSettled([kept]), waitedMs }
      receiving.set(upload.id, entry)
      try {
        return await kept
      } finally {
        if (receiving.get(upload.id) === entry) receiving.delete(upload.id)
      }
    },
  }
}

/** Passes chunks on, and tells how long the next one has been waited for, in milliseconds. */
function timed(chunks: AsyncIterable<Buffer>) {
  let askedMs = Number.POSITIVE_INFINITY
  async function* pass(): AsyncGenerator<Buffer, void, undefined> {
    askedMs = performance.now()
    for await (const chunk of chunks) {
      askedMs = Number.POSITIVE_INFINITY
      yield chunk
      askedMs = performance.now()
    }
  }
  return { bytes: pass(), waitedMs: () => performance.now() - askedMs }
}

/** Another process may have a connection of the client that is lost, and not know it yet. */
async function untilWritten(control: Queryable, uploadId: string): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS
  const isWriting = async (): Promise<boolean> =>
    (await control.artifact.count({ where: { uploadId, state: 'writing' } })) > 0
  while ((await isWriting()) && performance.now() < untilMs) await sleep(LOOK_MS)
}

async function keepParts(
  services: ArtifactServices,
  upload: Upload,
  offset: number,
  bytes: AsyncIterable<Buffer>,
): Promise<number> {
  assertFollows(offset, upload.offset)
  let end = offset
  let part: { readonly artifact: NewArtifact; readonly offset: number } | undefined
  const keep = async (): Promise<void> => {
    if (!part) return
    const { artifact, offset: start } = part
    part = undefined
    try {
      await addPart(services, upload.id, artifact, start)
    } finally {
      await artifact.discard()
    }
  }
  try {
    for await (const chunk of bytes) {
      if (end + chunk.length > upload.length) throw tooMuch(upload.length)
      part ??= {
        artifact: await beginArtifact(services, { kind: 'input', part: { uploadId: upload.id, offset: end } }),
        offset: end,
      }
      await part.artifact.writer.write(chunk)
      end += chunk.length
      if (end - part.offset >= PART_BYTES) await keep()
    }
  } catch (error) {
    // Where the store has failed, nothing of the part is left to be kept.
    await Promise.allSettled([keep()])
    throw error
  }
  await keep()
  return end
}

/** Makes a file that has been written the next part of the upload. */
async function addPart(
  { control: { prisma } }: ArtifactServices,
  uploadId: string,
  { id, writer }: NewArtifact,
  offset: number,
): Promise<void> {
  const finished = await writer.commit()
  await prisma.$transaction(async (tx) => {
    await lockUpload(tx, uploadId, offset)
    await publishArtifact(tx, { id, jobId: null, finished }, null)
    // What processes that are gone have begun is waited for no longer; what another is writing does not follow any more.
    await tx.artifact.updateMany({ where: { uploadId, state: 'writing' }, data: { state: 'deleted' } })
    await touchUpload(tx, uploadId)
  })
}
