import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.ts'
import { ClientGone } from './exchange.ts'

/**
 * Reads a request's body piece by piece.
 *
 * Not by the request's own iterator: leaving that early destroys the connection, and with it the answer that says
 * what is wrong with the upload; and it can't tell a client that has stopped sending.
 *
 * @param idleMs how long to wait for the next piece. Time that the reader takes for a piece does not count.
 * @throws {AppError} REQUEST_TIMEOUT. {ClientGone} where the connection ends before the body.
 */
export async function* readUpload(request: IncomingMessage, idleMs: number): AsyncGenerator<Buffer, void, undefined> {
  const arrivals = watchArrivals(request, idleMs)
  try {
    for (;;) {
      const chunk: Buffer | null = request.read()
      if (chunk !== null) yield chunk
      else if (request.readableEnded) return
      else await arrivals.next()
    }
  } finally {
    arrivals.stop()
  }
}

/** One set of listeners and one timer for a whole upload, since it may have millions of pieces. */
function watchArrivals(request: IncomingMessage, idleMs: number) {
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
  request.on('readable', wake).on('end', wake).on('error', gone).on('close', gone)

  return {
    /** Resolves when there may be bytes, or the end of them. */
    next: () =>
      new Promise<void>((resolve, reject) => {
        waiter = { resolve, reject }
        if (request.destroyed && !request.readableEnded) return gone()
        timer.refresh()
      }),
    stop(): void {
      clearTimeout(timer)
      request.off('readable', wake).off('end', wake).off('error', gone).off('close', gone)
    },
  }
}

const clientGone = (): Error => new ClientGone('the client went away before its upload had ended')

const uploadTimedOut = (idleMs: number): Error =>
  new AppError('REQUEST_TIMEOUT', `no more of the body arrived for ${idleMs} ms; the connection is closed`)
