import type { Readable } from 'node:stream'

/** Gives up an answer of which nothing is read. Unheard, the error that it ends with would end the process. */
export function discardAnswer(body: Readable): void {
  body.on('error', () => undefined)
  body.destroy()
}
