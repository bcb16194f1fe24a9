import type { Dispatcher } from 'undici'
import { AppError } from '../errors.ts'

/**
 * Where the server has an archive read from its storage. The URL is a secret, and is not shown.
 *
 * @param location what the server's redirect says.
 * @throws {AppError} REMOTE_FAILED where it leads nowhere, or from an encrypted connection to one that is none.
 */
export function linkedUrl(location: string | undefined, origin: string): URL {
  const url = location !== undefined && URL.canParse(location) ? new URL(location) : undefined
  const isWeaker = origin.startsWith('https:') && url?.protocol !== 'https:'
  if (url && /^https?:$/.test(url.protocol) && !isWeaker) return url
  throw new AppError('REMOTE_FAILED', `${origin} leads to a place from which no archive is read`)
}

/** Asks the storage: with the range, and without the token, which is not for it. */
export const askStorage = (
  agent: Dispatcher,
  url: URL,
  range: string | undefined,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> =>
  agent.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: 'GET',
    headers: range === undefined ? {} : { range },
    signal,
  })

/** @returns what a storage said that gave no archive; it may pass where the storage failed, and has a cause then. */
export function storageRefused(origin: string, status: number): AppError {
  const cause = status >= 500 ? { cause: new Error(`the status ${status}`) } : {}
  return new AppError('REMOTE_FAILED', `the storage of archives at ${origin} answered with the status ${status}`, cause)
}
