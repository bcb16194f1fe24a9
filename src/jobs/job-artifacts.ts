import { randomUUID } from 'node:crypto'
import type { ArtifactStore, ArtifactWriter, FinishedArtifact } from '../artifacts/artifact-store.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import { conflict } from '../errors.ts'
import { ENDED } from './job.ts'

/*
 * What is known of a file in the artifact store, as the state of its record.
 *
 * `writing`: it is being received or made. `ready`: whole, and checked against its digest when it was committed.
 * `deleted`: not to be had any more, though the store may still have it. `removed`: the store has let go of it.
 */

/** What keeping files takes. */
export interface ArtifactServices {
  readonly control: Database
  readonly artifacts: ArtifactStore
}

/**
 * What a file is for. `input`: the archive that a job is to import, or a part of an upload that may become one.
 * `output`: the archive that a job made.
 */
type ArtifactOrigin =
  | { readonly kind: 'output'; readonly jobId: string }
  /** Its job is made once it has arrived. */
  | { readonly kind: 'input'; readonly part?: { readonly uploadId: string; readonly offset: number } }
  /** A part of an archive that a job keeps for its next attempts. */
  | { readonly kind: 'input'; readonly kept: { readonly jobId: string; readonly offset: number } }

/** A file that is being written, with its record. */
export interface NewArtifact {
  /** Also its key in the store. */
  readonly id: string
  readonly writer: ArtifactWriter
  /** Leaves nothing of it, unless it was published; to be called where it may not have been. */
  discard(): Promise<void>
}

/**
 * Begins a file. Its record is there first, so that whatever dies afterwards leaves nothing in the store that nobody
 * knows of.
 *
 * @throws {AppError} as the store does.
 */
export async function beginArtifact(
  { control, artifacts }: ArtifactServices,
  origin: ArtifactOrigin,
): Promise<NewArtifact> {
  const id = randomUUID()
  const giveUp = (): Promise<unknown> =>
    control.prisma.artifact.updateMany({
      // A worker that was taken for dead may have written after the file was removed: it is removed once more then.
      where: { id, state: { in: ['writing', 'removed'] } },
      data: { state: 'deleted' },
    })
  const begin = async (): Promise<ArtifactWriter> => {
    // As SQL, so that its time is the database's: an upload without a job is swept by it.
    const { kind } = origin
    const kept = 'kept' in origin ? origin.kept : undefined
    const part = 'part' in origin ? origin.part : undefined
    const jobId = 'jobId' in origin ? origin.jobId : kept?.jobId
    const offset = part?.offset ?? kept?.offset
    await control.prisma.$executeRaw`
      INSERT INTO control.artifact (id, key, kind, job_id, upload_id, upload_offset)
      VALUES (${id}::uuid, ${id}, ${kind}, ${jobId ?? null}::uuid, ${part?.uploadId ?? null}::uuid,
              ${offset ?? null}::bigint)`
    return artifacts.create(id)
  }
  const writer = await begin().catch(async (error: unknown) => {
    // The record may be there although making it failed: the answer may have been lost.
    await Promise.allSettled([giveUp()])
    throw error
  })
  return {
    id,
    writer,
    async discard() {
      await writer.discard()
      // Where this fails, the sweep does it once the job has ended.
      await Promise.allSettled([giveUp()])
    },
  }
}

/**
 * Makes a file that has been committed to the store one that may be had.
 *
 * @param tx the transaction in which its job is made, or ends, or in which it becomes a part of an upload.
 * @param expiresInDays null for as long as its job needs it.
 */
export async function publishArtifact(
  tx: Transaction,
  { id, jobId, finished }: { readonly id: string; readonly jobId: string | null; readonly finished: FinishedArtifact },
  expiresInDays: number | null,
): Promise<void> {
  const published = await tx.$executeRaw`
    UPDATE control.artifact
       SET state = 'ready', job_id = ${jobId}::uuid, bytes = ${finished.bytes}::bigint,
           sha256 = decode(${finished.sha256}, 'hex'), expires_at = now() + make_interval(days => ${expiresInDays}::int)
     WHERE id = ${id}::uuid AND state = 'writing'`
  if (published !== 1) throw new Error('the file was given up in the meantime')
}

/** An archive that a job takes. */
export interface JobInput {
  /** Tells it from every other one: the digests of its files. */
  readonly identity: string
  readonly bytes: AsyncIterable<Buffer>
}

/** The archive that an import takes, in one file or in the parts of an upload; undefined where it is gone. */
export async function readInput(
  { control, artifacts }: ArtifactServices,
  jobId: string,
): Promise<JobInput | undefined> {
  const files = await control.prisma.artifact.findMany({
    where: { jobId, kind: 'input', state: 'ready' },
    orderBy: { uploadOffset: 'asc' },
  })
  if (files.length === 0) return undefined
  const keys = files.map(({ key }) => key)
  const identity = files.map(({ sha256 }) => Buffer.from(sha256 ?? []).toString('hex')).join(' ')
  return { identity, bytes: readFiles(artifacts, keys) }
}

/** The bytes of several files, one after the other. */
export async function* readFiles(
  artifacts: ArtifactStore,
  keys: readonly string[],
): AsyncGenerator<Buffer, void, undefined> {
  for (const key of keys) yield* artifacts.read(key)
}

/** Whether a file is recorded as one that is being written. Its record is there before its first byte. */
export async function isUnderWay(control: Queryable, key: string): Promise<boolean> {
  return (await control.artifact.count({ where: { key, state: 'writing' } })) > 0
}

/**
 * Removes the record of a job that has ended. Its files are not to be had from now on, and go with the next sweep.
 *
 * @throws {AppError} CONFLICT for a job that goes on.
 */
export async function removeJob({ prisma }: Database, id: string): Promise<void> {
  await prisma.$transaction(async (tx) => {
    await tx.artifact.updateMany({
      where: { jobId: id, state: { in: ['writing', 'ready'] }, job: { status: { in: [...ENDED] } } },
      data: { state: 'deleted' },
    })
    const { count } = await tx.job.deleteMany({ where: { id, status: { in: [...ENDED] } } })
    if (count !== 1) throw conflict('the job goes on; cancel it first')
  })
}
