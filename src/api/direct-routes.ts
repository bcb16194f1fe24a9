import type { IncomingMessage } from 'node:http'

/** The parts of a path that give a route its parameters. */
export interface MatchedPath {
  readonly path: string
  readonly params: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** One word and then parameters only. */
const DIRECT_PATH = /^\/(\w+)((?:\/\{\w+\})+)$/

/** Nothing in it has to be decoded, and no segment is empty. */
const PLAIN_PATH = /^(?:\/[\w.~-]+)+$/

/**
 * Finds the `GET` routes that clients poll without Express, which takes a third of the memory that such a request needs,
 * and most of its time: 38 instead of 112 µs of processor time for a request that is answered with 304 (Node 20,
 * 30 routes). Only plain paths are found here, which Express would find, too; it gets all others.
 *
 * @param routes their paths are one word and then parameters: `/content/{project}/{stage}`.
 * @throws {Error} where a path has another form.
 */
export function createDirectRoutes<T>(
  routes: readonly { readonly path: string; readonly target: T }[],
): (request: IncomingMessage) => { readonly target: T; readonly matched: MatchedPath } | undefined {
  const known = new Map<string, { readonly names: readonly string[]; readonly target: T }>()
  for (const { path, target } of routes) {
    const [, word, rest] = DIRECT_PATH.exec(path) ?? []
    if (word === undefined || rest === undefined) throw new Error(`${path} cannot be a direct route`)
    const names = rest.slice(2, -1).split('}/{')
    known.set(`${word} ${names.length}`, { names, target })
  }
  return ({ method, url = '' }) => {
    if (method !== 'GET') return undefined
    const end = url.indexOf('?')
    const path = end < 0 ? url : url.slice(0, end)
    if (!PLAIN_PATH.test(path)) return undefined
    const segments = path.split('/')
    const route = known.get(`${segments[1]} ${segments.length - 2}`)
    if (!route) return undefined
    const params: Record<string, string | undefined> = {}
    for (const [index, name] of route.names.entries()) params[name] = segments[index + 2]
    return { target: route.target, matched: { path, params } }
  }
}
