import { createHash } from 'node:crypto'
import type { Queryable } from '../database/database.ts'
import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { type ArtifactServices, beginArtifact, type NewArtifact, publishArtifact } from './job-artifacts.ts'
import { type Attempt, isStillRunning } from './transitions.ts'

/** How much is fetched before it is safe from the end of this process. */
const PART_BYTES = 64 * 1024 * 1024

/** An archive that a job fetches from elsewhere, in parts that its next attempt need not fetch again. */
export interface Fetching {
  /** The attempt at the job. */
  readonly attempt: Attempt
  /** Of the whole archive, in hexadecimal digits. */
  readonly sha256: string
  /** Reads it from there, from so many bytes on. */
  readonly readFrom: (offset: number) => AsyncIterable<Buffer>
  /** After how long a part ends, in milliseconds, however little there is of it. */
  readonly partMs: number
}

interface FetchServices extends ArtifactServices {
  readonly logger: Logger
}

/**
 * The bytes of an archive: first what earlier attempts have kept of it, then the rest, which is kept as it comes. Also where
 * reading ends early, what has come is kept; it goes with the end of the job.
 *
 * @throws {AppError} ARCHIVE_INVALID where the bytes are not those of that archive; as the store does, and what reading throws.
 */
export async function* fetchArchive(
  services: FetchServices,
  { attempt, sha256, readFrom, partMs }: Fetching,
): AsyncGenerator<Buffer, void, undefined> {
  const hash = createHash('sha256')
  let end = 0
  for (const { key, bytes } of await keptParts(services, attempt.id)) {
    for await (const chunk of services.artifacts.read(key)) {
      hash.update(chunk)
      yield chunk
    }
    end += bytes
  }
  const parts = createPartKeeper(services, attempt, { end, partMs })
  try {
    for await (const chunk of readFrom(end)) {
      hash.update(chunk)
      await parts.add(chunk)
      yield chunk
    }
  } finally {
    await parts.end()
  }
  if (hash.digest('hex') === sha256) return
  throw new AppError('ARCHIVE_INVALID', 'the archive did not arrive as the other server has it; try the transfer again')
}

/** Keeps what comes. Where that fails, the rest is not kept: it is fetched again, if there has to be another attempt. */
function createPartKeeper(
  services: FetchServices,
  attempt: Attempt,
  { end: start, partMs }: { readonly end: number; readonly partMs: number },
) {
  let end = start
  let isKeeping = true
  let part: { readonly artifact: NewArtifact; readonly offset: number; readonly begunMs: number } | undefined

  const finish = async (): Promise<void> => {
    if (part) await addPart(services, attempt, part)
    part = undefined
  }
  const orStop = async (step: () => Promise<void>): Promise<void> => {
    if (!isKeeping) return
    try {
      await step()
    } catch (error) {
      isKeeping = false
      services.logger.warn({ err: error, jobId: attempt.id }, 'a job does not keep the archive that it fetches')
      await part?.artifact.discard()
    }
  }
  return {
    add: (chunk: Buffer): Promise<void> =>
      orStop(async () => {
        part ??= {
          artifact: await beginArtifact(services, { kind: 'input', kept: { jobId: attempt.id, offset: end } }),
          ...{ offset: end, begunMs: performance.now() },
        }
        await part.artifact.writer.write(chunk)
        end += chunk.length
        if (end - part.offset >= PART_BYTES || performance.now() - part.begunMs >= partMs) await finish()
      }),
    end: (): Promise<void> => orStop(finish),
  }
}

/** The parts that are there, from the first byte on, each where the one before ends; none where the store has lost one. */
async function keptParts({ control: { prisma }, artifacts }: ArtifactServices, jobId: string) {
  const records = await prisma.artifact.findMany({
    where: { jobId, kind: 'input', state: 'ready' },
    orderBy: { uploadOffset: 'asc' },
    select: { key: true, bytes: true },
  })
  const parts = records.map(({ key, bytes }) => ({ key, bytes: Number(bytes) }))
  for (const { key, bytes } of parts) {
    if ((await artifacts.size(key)) === bytes) continue
    await forgetParts(prisma, jobId)
    return []
  }
  return parts
}

/** Lets go of what was kept: it is of another archive. */
export const forgetParts = async (control: Queryable, jobId: string): Promise<void> =>
  void (await control.artifact.updateMany({
    where: { jobId, kind: 'input', state: { in: ['writing', 'ready'] } },
    data: { state: 'deleted' },
  }))

/** @throws where the attempt is not the job's any more: another one fetches the same. */
async function addPart(
  { control: { prisma } }: ArtifactServices,
  attempt: Attempt,
  { artifact: { id, writer }, offset }: { readonly artifact: NewArtifact; readonly offset: number },
): Promise<void> {
  const finished = await writer.commit()
  await prisma.$transaction(async (tx) => {
    if (!(await isStillRunning(tx, attempt))) throw new Error('another attempt fetches the archive')
    const { _sum } = await tx.artifact.aggregate({
      where: { jobId: attempt.id, kind: 'input', state: 'ready' },
      _sum: { bytes: true },
    })
    if (Number(_sum.bytes ?? 0) !== offset) throw new Error('the part does not follow those that are there')
    await publishArtifact(tx, { id, jobId: attempt.id, finished }, null)
  })
}
