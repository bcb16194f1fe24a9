import { AppError, type AppErrorOptions } from '../../errors.ts'

/** What a server refused, by the status of its answer. */
export class RemoteRefused extends AppError {
  readonly status: number

  constructor(message: string, status: number, options: AppErrorOptions = {}) {
    super('REMOTE_FAILED', message, options)
    this.status = status
  }
}

export const failureWith = (origin: string, reason: string): string =>
  `the transfer with ${new URL(origin).host} failed: ${reason}`

export const remoteFailed = (origin: string, reason: string, options: AppErrorOptions = {}): AppError =>
  new AppError('REMOTE_FAILED', failureWith(origin, reason), options)

const AGAIN_SECONDS = 1

/** The transfer may be begun again at once. @param what e.g. `the upload`. */
export const remoteGone = (origin: string, what: string): AppError =>
  remoteFailed(origin, `${what} is not there any more`, { retryAfterSeconds: AGAIN_SECONDS })

export const otherAnswer = (origin: string): AppError =>
  remoteFailed(origin, 'it does not answer as a Wharf server does')
