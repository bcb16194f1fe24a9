import { AppError } from '../errors.ts'
import { errorCode } from '../lib/error-code.ts'

const NO_ROOM: ReadonlySet<string> = new Set([
  'ENOSPC',
  'EDQUOT',
  'EFBIG',
  // As S3 servers of several makers call it.
  'InsufficientStorage',
  'QuotaExceeded',
  'XMinioStorageFull',
])
const HTTP_INSUFFICIENT_STORAGE = 507

/**
 * What a failure of the file system or of the S3 client means to us.
 *
 * @returns STORAGE_FULL, STORAGE_UNAVAILABLE, or `error` itself where it is neither's: a bug, or an `AppError`.
 */
export function storageFault(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AppError) return error
  const status = httpStatus(error)
  if (NO_ROOM.has(errorCode(error) ?? error.name) || status === HTTP_INSUFFICIENT_STORAGE) {
    return new AppError('STORAGE_FULL', 'there is no room left where archives are kept', { cause: error })
  }
  if (status === undefined && !isSystemError(error) && !CLIENT_ERRORS.has(error.name)) return error
  return new AppError('STORAGE_UNAVAILABLE', 'the place where archives are kept cannot be used for now', {
    cause: error,
  })
}

/** Failures of the S3 client before any answer. */
const CLIENT_ERRORS: ReadonlySet<string> = new Set(['TimeoutError', 'CredentialsProviderError'])

/** Node's own errors of wrong use have codes too: `ERR_INVALID_ARG_TYPE`. */
const isSystemError = (error: Error): boolean => /^E(?!RR_)[A-Z0-9]+$/.test(errorCode(error) ?? '')

/** @returns the status that an S3 server answered with; undefined where `error` is not about an answer. */
export function httpStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined
  const { $metadata: metadata } = error
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return undefined
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : undefined
}

/** @throws what `storageFault` makes of the failure of a call. */
export async function translateErrors<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw storageFault(error)
  }
}

/** What an S3 server gave; undefined where it has no such object or upload. */
export async function unlessNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (httpStatus(error) === 404) return undefined
    throw error
  }
}
