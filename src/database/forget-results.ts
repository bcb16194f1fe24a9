import type pg from 'pg'

/**
 * Keeps a connection from holding on to the results of queries that are over.
 *
 * V8 does not see that a result whose promise `pg` made itself is garbage until it collects the old generation, so an
 * export grew by as much as the collector waits for, and a third of its time went into moving dead strings about
 * (`bench/`). With a promise that is made around the call, a result is gone as soon as nobody uses it.
 */
export function forgetResults(client: pg.ClientBase): void {
  const original = client.query
  const query = (...args: readonly unknown[]): unknown => {
    const [config, values, callback] = args
    const answersItself = [values, callback].some((value) => typeof value === 'function') || isSubmittable(config)
    if (answersItself) return Reflect.apply(original, client, args)
    return new Promise((resolve, reject) => {
      const settle = (error: unknown, result: unknown): void => (error ? reject(error) : resolve(result))
      Reflect.apply(original, client, [config, values, settle])
    }).catch((error: unknown) => {
      // As `pg` does: a stack that leads to whoever asked, and not to the socket.
      if (error instanceof Error) Error.captureStackTrace(error)
      throw error
    })
  }
  Object.defineProperty(client, 'query', { value: query })
}

/** What pg-copy-streams and the like give instead of a query; they settle by themselves. */
const isSubmittable = (config: unknown): boolean =>
  typeof config === 'object' && config !== null && 'submit' in config && typeof config.submit === 'function'
