import { Writable } from 'node:stream'
import { ClientGone, type Exchange } from './exchange.ts'
import { paceReader } from './reader-pace.ts'

/**
 * The end of a pipeline that streams an answer.
 *
 * @param sendHead called once, with the first byte or with a clean end without any.
 * @returns a sink that keeps to the client's pace. Destroyed with an error after the head has gone out, it destroys
 *   the connection too, so that the client never sees a clean end. Destroyed by itself when the client goes away.
 */
export function createAnswerSink(exchange: Exchange, sendHead: () => void): Writable {
  const { response } = exchange
  const { answerIdleMs: periodMs, answerBytesPerSecond: bytesPerSecond } = exchange.frame.limits
  const write = paceReader(response, { periodMs, bytesPerSecond })
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!response.headersSent) sendHead()
      exchange.bytesSent += chunk.length
      write(chunk, done)
    },
    final(done) {
      if (!response.headersSent) sendHead()
      response.end(done)
    },
    destroy(error, done) {
      // Said before the connection ends, which would otherwise look as if the client had gone away.
      if (error) exchange.abort(error)
      if (error && response.headersSent) response.destroy()
      done(error)
    },
  })
  // The writer sees this error too; without a listener it would end the process.
  sink.on('error', () => undefined)
  response.once('close', () => {
    if (!response.writableFinished) sink.destroy(new ClientGone('the client went away before the answer had ended'))
  })
  dropStalledReader(exchange)
  return sink
}

/**
 * Destroys the connection once the client has not taken anything of what waits for it for as long as the limit says.
 * Node's socket timeout counts each byte that the client takes as progress; of a stream it has to take more (`paceReader`).
 */
export function dropStalledReader({ response, frame }: Exchange): void {
  const { answerIdleMs } = frame.limits
  response.setTimeout(answerIdleMs, () => {
    if (response.writableLength > 0) response.destroy()
    // Nothing waits for the client: it is the producer that is slow, which is no reason to end.
    else response.setTimeout(answerIdleMs)
  })
}
