import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { AppError, isAppError } from '../errors.ts'
import type { AddressOf } from './client-address.ts'

export interface RequestLimitOptions {
  /** Unknown tokens that one address may try in a minute; 0 for any number. */
  readonly maxFailedLogins: number
  /** Requests with one token, or from one address without a token, in a minute; 0 for any number. */
  readonly maxRequests: number
}

/** Counts requests, in the memory of this process: nothing has to be reached, so nothing can fail or slow a request. */
export interface RequestLimits {
  /**
   * Lets a request in, and counts it. Where its token, or its address without one, has no requests left, it is refused
   * without a look-up.
   *
   * An address that has tried too many unknown tokens is refused further ones, without a look-up. Tokens that were good
   * before are not among them, so that others behind the same address are not shut out with it.
   *
   * @param token undefined where the request has none.
   * @param find finds out who it is.
   * @param idOf the id of the token, once that is known.
   * @throws {AppError} TOO_MANY_REQUESTS, with the seconds after which it is worth trying again; what `find` throws.
   */
  admit<T>(
    request: IncomingMessage,
    token: string | undefined,
    find: () => Promise<T>,
    idOf: () => string | undefined,
  ): Promise<T>
}

const MINUTE_SECONDS = 60

/** How many tokens that were good before are remembered, by digest. */
const MAX_KNOWN = 20_000

/** How many addresses that are refused unknown tokens are remembered. */
const MAX_REFUSED = 100_000

/** How many tokens and addresses that have no requests left are remembered. */
const MAX_SPENT = 100_000

export function createRequestLimits(
  { maxFailedLogins, maxRequests }: RequestLimitOptions,
  addressOf: AddressOf,
): RequestLimits {
  const requests = limiterFor(maxRequests)
  const failures = limiterFor(maxFailedLogins)
  const known = new LRUCache<string, true>({ max: MAX_KNOWN })
  /** Addresses that may try no unknown token for now. */
  const refused = createWaits(MAX_REFUSED, tooManyFailures)
  /** Tokens (by digest) and addresses that have no requests left. */
  const spent = createWaits(MAX_SPENT, tooManyRequests)

  const countFailure = async (request: IncomingMessage): Promise<void> => {
    const address = addressOf(request)
    refused.begin(address, await consume(failures, address))
  }

  const count = async (
    request: IncomingMessage,
    digest: string | undefined,
    tokenId: string | undefined,
  ): Promise<void> => {
    const address = addressOf(request)
    const waitMs = await consume(requests, tokenId ?? address)
    if (waitMs === 0) return
    // A token that is not known is none that could have requests of its own.
    spent.begin((tokenId === undefined ? undefined : digest) ?? address, waitMs)
    throw tooManyRequests(waitMs)
  }

  const findKnown = async <T>(request: IncomingMessage, digest: string, find: () => Promise<T>): Promise<T> => {
    if (!known.has(digest)) refused.assertOver(() => addressOf(request))
    try {
      const found = await find()
      known.set(digest, true)
      return found
    } catch (error) {
      if (isAppError(error, 'UNAUTHENTICATED')) {
        known.delete(digest)
        await countFailure(request)
      }
      throw error
    }
  }

  return {
    async admit(request, token, find, idOf) {
      const digest = token === undefined ? undefined : hash('sha256', token, 'base64')
      spent.assertOver(() => digest ?? addressOf(request))
      try {
        return digest === undefined || !failures ? await find() : await findKnown(request, digest, find)
      } finally {
        if (requests) await count(request, digest, idOf())
      }
    },
  }
}

/** Remembers who has to wait, and until when. Nobody's address is looked for while nobody has to. */
function createWaits(max: number, failure: (waitMs: number) => AppError) {
  /** In milliseconds since 1970. */
  const untilMs = new LRUCache<string, number>({ max })
  return {
    begin(key: string, waitMs: number): void {
      if (waitMs > 0) untilMs.set(key, Date.now() + waitMs)
    },
    assertOver(keyOf: () => string): void {
      if (untilMs.size === 0) return
      const key = keyOf()
      const waitMs = (untilMs.get(key) ?? 0) - Date.now()
      if (waitMs > 0) throw failure(waitMs)
      untilMs.delete(key)
    },
  }
}

const limiterFor = (points: number): RateLimiterMemory | undefined =>
  points === 0 ? undefined : new RateLimiterMemory({ keyPrefix: '', points, duration: MINUTE_SECONDS })

/** @returns for how many milliseconds nothing is left, else 0. */
async function consume(limiter: RateLimiterMemory | undefined, key: string): Promise<number> {
  try {
    await limiter?.consume(key)
    return 0
  } catch (error) {
    if (error instanceof RateLimiterRes) return Math.max(1, error.msBeforeNext)
    throw error
  }
}

const tooMany = (message: string, waitMs: number): AppError =>
  new AppError('TOO_MANY_REQUESTS', message, { retryAfterSeconds: Math.ceil(waitMs / 1000) })

const tooManyRequests = (waitMs: number): AppError =>
  tooMany('too many requests were made with this token, or without one from this address, in the last minute', waitMs)

const tooManyFailures = (waitMs: number): AppError =>
  tooMany(
    'too many unknown tokens came from this address in the last minute, so that none is looked up for now; tokens that were good before are',
    waitMs,
  )
