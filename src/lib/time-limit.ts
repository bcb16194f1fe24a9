/**
 * A signal that is aborted after so long. Unlike `AbortSignal.timeout`, it may be given to `AbortSignal.any`: of that one,
 * Node.js 20 forgets the timer with the next collection of memory, and the limit never comes.
 */
export function timeLimit(ms: number): AbortSignal {
  const controller = new AbortController()
  const expire = (): void => controller.abort(new DOMException(`it took longer than ${ms} ms`, 'TimeoutError'))
  setTimeout(expire, ms).unref()
  return controller.signal
}
