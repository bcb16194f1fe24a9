import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.ts'
import { type ApiLimits, ClientGone, type Exchange } from './exchange.ts'

export type UploadLimits = Pick<ApiLimits, 'uploadIdleMs' | 'uploadMs' | 'uploadBytesPerSecond'>

type BodyWatch = Pick<Exchange, 'bodyFailure' | 'onBodyFailure'>

/**
 * Reads a request's body piece by piece.
 *
 * Not by the request's own iterator: leaving that early destroys the connection, and with it the answer that says
 * what is wrong with the upload; and it can't tell a client that has stopped sending.
 *
 * @param limits how long to wait for the next piece, and for all of them. Time that the reader takes for a piece does not
 *   count.
 * @param exchange learns where the body will not become whole.
 * @throws {AppError} REQUEST_TIMEOUT; INVALID_REQUEST where the body ends too early, or is malformed, and its client can
 *   still be answered. {ClientGone} where the connection ends before the body.
 */
export async function* readUpload(
  request: IncomingMessage,
  limits: UploadLimits,
  exchange: BodyWatch,
): AsyncGenerator<Buffer, void, undefined> {
  const arrivals = watchArrivals(request, limits.uploadIdleMs, exchange)
  let bytes = 0
  let waitedMs = 0
  try {
    for (;;) {
      const chunk: Buffer | null = request.read()
      if (chunk !== null) {
        bytes += chunk.length
        yield chunk
      } else if (request.readableEnded) {
        return
      } else {
        const startedAtMs = performance.now()
        await arrivals.next()
        waitedMs += performance.now() - startedAtMs
        if (waitedMs > longestMs(bytes, limits)) throw uploadTooSlow(limits)
      }
    }
  } finally {
    arrivals.stop()
  }
}

/** How long a client may take for so many bytes. One that keeps sending a little would go on for ever otherwise. */
const longestMs = (bytes: number, { uploadMs, uploadBytesPerSecond }: UploadLimits): number =>
  Math.max(uploadMs, (bytes / uploadBytesPerSecond) * 1_000)

/** One set of listeners and one timer for a whole upload, since it may have millions of pieces. */
function watchArrivals(request: IncomingMessage, idleMs: number, exchange: BodyWatch) {
  let waiter: { resolve: () => void; reject: (error: Error) => void } | undefined
  const wake = (): void => {
    waiter?.resolve()
    waiter = undefined
  }
  const fail = (error: Error): void => {
    waiter?.reject(error)
    waiter = undefined
  }
  const gone = (): void => fail(clientGone())
  const timer = setTimeout(() => fail(uploadTimedOut(idleMs)), idleMs)
  exchange.onBodyFailure = fail
  request.on('readable', wake).on('end', wake).on('error', gone).on('close', gone)

  return {
    /** Resolves when there may be bytes, or the end of them. */
    next: () =>
      new Promise<void>((resolve, reject) => {
        waiter = { resolve, reject }
        if (exchange.bodyFailure) return fail(exchange.bodyFailure)
        if (request.destroyed && !request.readableEnded) return gone()
        timer.refresh()
      }),
    stop(): void {
      clearTimeout(timer)
      exchange.onBodyFailure = undefined
      request.off('readable', wake).off('end', wake).off('error', gone).off('close', gone)
    },
  }
}

const clientGone = (): Error => new ClientGone('the client went away before its upload had ended')

const uploadTimedOut = (idleMs: number): Error =>
  new AppError('REQUEST_TIMEOUT', `no more of the body arrived for ${idleMs} ms; the connection is closed`)

const uploadTooSlow = ({ uploadMs, uploadBytesPerSecond }: UploadLimits): Error =>
  new AppError(
    'REQUEST_TIMEOUT',
    `the body did not arrive within ${uploadMs} ms, and came more slowly than ${uploadBytesPerSecond} bytes per second; ` +
      'the connection is closed',
  )
