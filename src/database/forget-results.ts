import type pg from 'pg'

/**
 * Keeps a connection from holding on to the results of queries that are over.
 *
 * Results behind the promises that `pg` makes itself were seen to stay in memory until the whole heap is collected: an
 * export grew by as much as the collector waits for. Behind a promise that is made around the call, they go as soon as
 * nobody uses them (`npm run bench -- memory`).
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
      // As `pg` does: a stack that leads to the caller, not to the socket.
      if (error instanceof Error) Error.captureStackTrace(error)
      throw error
    })
  }
  Object.defineProperty(client, 'query', { value: query })
}

/** What pg-copy-streams and the like give instead of a query; they settle by themselves. */
const isSubmittable = (config: unknown): boolean =>
  typeof config === 'object' && config !== null && 'submit' in config && typeof config.submit === 'function'
