import { hash } from 'node:crypto'
import type { RedisClient } from '../lib/redis.ts'
import type { Logger } from '../logger.ts'
import { packAnswer, unpackAnswer } from './packed-answer.ts'
import type { ResponseCache } from './response-cache.ts'

/** Keys are hashed: they contain queries, which can be long and are nobody's business. */
const keyOf = (key: string): string => `wharf:content:${hash('sha256', key, 'base64url')}`

/** How long an answer is kept, in seconds. Only for the sake of memory: an old one is as right as a new one. */
const KEEP_SECONDS = 3600

/** Larger ones would hold up the connection that all share. */
const MAX_BYTES = 4 * 1024 * 1024

/**
 * Keeps answers in Redis, for all processes. A Redis that is away, slow, or returns what nobody stored is a miss.
 *
 * @param redis has to fail soon where it does not work: without an offline queue, and with a timeout for each command.
 */
export function createRedisCache(redis: RedisClient, logger: Logger): ResponseCache {
  return {
    async get(key) {
      try {
        const packed = await redis.getBuffer(keyOf(key))
        return packed === null ? undefined : unpackAnswer(key, packed)
      } catch (error) {
        logger.debug({ reason: reasonOf(error) }, 'the response cache could not be read')
        return undefined
      }
    },
    set(key, answer) {
      if (answer.body.byteLength > MAX_BYTES) return
      redis.set(keyOf(key), packAnswer(key, answer), 'EX', KEEP_SECONDS).catch((error: unknown) => {
        logger.debug({ reason: reasonOf(error) }, 'the response cache could not be written')
      })
    },
  }
}

/** Not the error itself: it quotes the command, and with it the rows that were to be kept. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
