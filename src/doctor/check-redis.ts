import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { type Config, redisAddressOf } from '../config.ts'
import { openRedis } from '../lib/redis.ts'
import { type Checked, check, fault, ok } from './check.ts'

/** The oldest major version of Redis that the queue is tried on. */
const OLDEST_REDIS = 7

const ADVICE = 'check REDIS_URL and WHARF_REDIS_SENTINELS, and that Redis runs and takes writes of this login'

/** Whether Redis answers, takes writes, and keeps what it has. @returns nothing where none is configured. */
export async function checkRedis(
  config: Pick<Config, 'redisUrl' | 'redisSentinels' | 'redisSentinelPassword'>,
): Promise<readonly Checked[]> {
  const address = redisAddressOf(config)
  if (address === undefined) return []
  return [
    await check('Redis', ADVICE, async () => {
      const redis = openRedis(address, {
        ...{ lazyConnect: true, connectTimeout: 5_000, commandTimeout: 5_000 },
        ...{ maxRetriesPerRequest: 0, retryStrategy: () => null },
      })
      // What it says of the connection is less than what the command fails with.
      let reason: Error | undefined
      redis.on('error', (error) => {
        reason = error
      })
      try {
        await redis.connect().catch((error: unknown) => {
          throw reason ?? error
        })
        return await look(redis)
      } finally {
        redis.disconnect()
      }
    }),
  ]
}

async function look(redis: Redis): Promise<Omit<Checked, 'name'>> {
  const key = `wharf:doctor:${randomUUID()}`
  await redis.set(key, 'written', 'PX', 60_000)
  const read = await redis.getdel(key)
  if (read !== 'written') return fault(`Redis does not keep what is written: ${ADVICE}`)
  const said = await redis.info()
  const version = fieldOf(said, 'valkey_version') ?? fieldOf(said, 'redis_version') ?? 'unknown'
  if (Number.parseInt(version, 10) < OLDEST_REDIS) return fault(`Redis is ${version}: install Redis 7 or Valkey`)
  const policy = fieldOf(said, 'maxmemory_policy')
  if (policy !== undefined && policy !== 'noeviction') {
    return fault(
      `Redis may drop queued jobs when its memory is full (maxmemory-policy ${policy}): set maxmemory-policy noeviction`,
    )
  }
  return ok(`version ${version}, maxmemory-policy ${policy ?? 'not told'}`)
}

/** A field of what INFO says. */
const fieldOf = (info: string, field: string): string | undefined =>
  new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(info)?.[1]
