import type { Queryable, Transaction } from '../../database/database.ts'
import { AppError, conflict, notFound } from '../../errors.ts'
import { type Caller, tokenIdOf } from '../../projects/access.ts'

/*
 * Archives that arrive in as many requests as it takes, so that a connection that is lost costs no more than what it had
 * not delivered yet. What has come is kept in parts, each a file of the artifact store, until a job takes them, the
 * upload is removed, or nothing more is heard of it.
 */

/** How long an upload is kept after the last of it has come, or was used. */
export const UPLOAD_HOURS = 24

/** How many uploads a token may have at once: each takes room. */
const MAX_UPLOADS = 100

export interface Upload {
  readonly id: string
  /** How many bytes it has once it is whole. */
  readonly length: number
  /** How many have come, from its beginning. */
  readonly offset: number
  readonly expiresAt: Date
}

/**
 * @param length how many bytes will come.
 * @throws {AppError} CONFLICT where the caller's token has too many.
 */
export async function createUpload(control: Queryable, caller: Caller, length: number): Promise<Upload> {
  const createdBy = tokenIdOf(caller)
  // As SQL, so that its times are the database's, by which it is swept.
  const [made] = await control.$queryRaw<{ readonly id: string; readonly expiresAt: Date }[]>`
    INSERT INTO control.upload (created_by, length, expires_at)
    SELECT ${createdBy}::uuid, ${length}::bigint, now() + make_interval(hours => ${UPLOAD_HOURS}::int)
     WHERE (SELECT count(*) FROM control.upload WHERE created_by IS NOT DISTINCT FROM ${createdBy}::uuid) < ${MAX_UPLOADS}
    RETURNING id, expires_at AS "expiresAt"`
  if (made) return { ...made, length, offset: 0 }
  throw conflict(`the token has ${MAX_UPLOADS} uploads already; finish or delete one, or wait until they expire`)
}

/** @throws {AppError} NOT_FOUND where there is none, or it is of another token; the root token may use all. */
export async function findUpload(control: Queryable, caller: Caller, id: string): Promise<Upload> {
  const found = await control.upload.findFirst({
    where: { id, ...(caller.kind === 'token' && { createdBy: caller.tokenId }) },
  })
  if (!found) throw notFound('upload', id)
  return { id, length: Number(found.length), offset: await offsetOf(control, id), expiresAt: found.expiresAt }
}

/** How many bytes have come. Parts follow each other without a gap, see `addPart`. */
async function offsetOf(control: Queryable, uploadId: string): Promise<number> {
  const { _sum } = await control.artifact.aggregate({ where: { uploadId, state: 'ready' }, _sum: { bytes: true } })
  return Number(_sum.bytes ?? 0)
}

/** Keeps the upload for as long again. */
export async function touchUpload(control: Queryable, id: string): Promise<void> {
  await control.$executeRaw`
    UPDATE control.upload SET expires_at = now() + make_interval(hours => ${UPLOAD_HOURS}::int) WHERE id = ${id}::uuid`
}

/**
 * Removes an upload. Its parts are not to be had from now on, and go with the next sweep. Does nothing where it is gone.
 */
export async function removeUpload(control: Queryable, id: string): Promise<void> {
  await control.upload.deleteMany({ where: { id } })
}

/**
 * Makes sure that what comes next follows what has come, and keeps it so until the transaction ends. Another process that is
 * writing a part at this moment will find that it does not follow any more.
 *
 * @param offset how many bytes the sender takes to be there.
 * @throws {AppError} NOT_FOUND where the upload is gone; CONFLICT where others have come in the meantime.
 */
export async function lockUpload(tx: Transaction, id: string, offset: number): Promise<void> {
  const [found] = await tx.$queryRaw<readonly unknown[]>`SELECT FROM control.upload WHERE id = ${id}::uuid FOR UPDATE`
  if (!found) throw notFound('upload', id)
  assertFollows(offset, await offsetOf(tx, id))
}

/** @throws {AppError} CONFLICT where a sender takes more or fewer bytes to be there than are. */
export function assertFollows(given: number, offset: number): void {
  if (given !== offset)
    throw conflict(`${offset} bytes of the upload are there, and what was sent begins at ${given}; go on at ${offset}`)
}

/** @throws {AppError} CONFLICT where bytes are missing. */
export function assertWhole({ length, offset }: Upload): void {
  if (offset !== length) throw conflict(`the upload has ${offset} of its ${length} bytes; send the rest first`)
}

/** Where the parts of an upload are in the store, in their order. */
export async function partsOf(control: Queryable, uploadId: string): Promise<readonly string[]> {
  const parts = await control.artifact.findMany({
    where: { uploadId, state: 'ready' },
    orderBy: { uploadOffset: 'asc' },
  })
  return parts.map(({ key }) => key)
}

/**
 * Gives the parts of an upload to a job; there is no upload afterwards.
 *
 * @param tx the transaction in which the job is recorded.
 * @throws {AppError} NOT_FOUND where the upload is gone.
 */
export async function takeUpload(tx: Transaction, id: string, jobId: string): Promise<void> {
  await tx.artifact.updateMany({ where: { uploadId: id, state: 'ready' }, data: { jobId } })
  const { count } = await tx.upload.deleteMany({ where: { id } })
  if (count !== 1) throw notFound('upload', id)
}

/** @param length of the whole upload, in bytes. */
export const tooMuch = (length: number): AppError =>
  new AppError('BODY_TOO_LARGE', `the upload was said to have ${length} bytes, and more were sent`)
