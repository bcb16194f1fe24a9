import { randomUUID } from 'node:crypto'
import { Cluster } from 'ioredis'
import { type RedisConfig, redisAddressOf } from '../config.ts'
import { openRedis, type RedisClient } from '../lib/redis.ts'
import { type Checked, check, fault, ok } from './check.ts'

/** The oldest major version of Redis that the queue is tried on. */
const OLDEST_REDIS = 7

const ADVICE =
  'check REDIS_URL, WHARF_REDIS_SENTINELS and WHARF_REDIS_CLUSTER, and that Redis runs and takes writes of this login'

/** Whether Redis answers, takes writes, and keeps what it has. @returns nothing where none is configured. */
export async function checkRedis(config: RedisConfig): Promise<readonly Checked[]> {
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

async function look(redis: RedisClient): Promise<Omit<Checked, 'name'>> {
  const primaries = redis instanceof Cluster ? redis.nodes('master') : [redis]
  const said = await Promise.all(primaries.map((node) => node.info()))
  for (const text of said) {
    if (!(redis instanceof Cluster) && fieldOf(text, 'cluster_enabled') === '1') {
      return fault('REDIS_URL names a node of a cluster: name all nodes in WHARF_REDIS_CLUSTER')
    }
    if (Number.parseInt(versionOf(text), 10) < OLDEST_REDIS) {
      return fault(`Redis is ${versionOf(text)}: install Redis 7 or Valkey`)
    }
    const policy = fieldOf(text, 'maxmemory_policy')
    if (policy !== undefined && policy !== 'noeviction') {
      return fault(
        `Redis may drop queued jobs when its memory is full (maxmemory-policy ${policy}): set maxmemory-policy noeviction`,
      )
    }
  }
  const key = `wharf:doctor:${randomUUID()}`
  await redis.set(key, 'written', 'PX', 60_000)
  const read = await redis.getdel(key)
  if (read !== 'written') return fault(`Redis does not keep what is written: ${ADVICE}`)
  const [first = ''] = said
  const many = redis instanceof Cluster ? `, a cluster of ${primaries.length} primaries` : ''
  return ok(`version ${versionOf(first)}, maxmemory-policy ${fieldOf(first, 'maxmemory_policy') ?? 'not told'}${many}`)
}

const versionOf = (info: string): string =>
  fieldOf(info, 'valkey_version') ?? fieldOf(info, 'redis_version') ?? 'unknown'

/** A field of what INFO says. */
const fieldOf = (info: string, field: string): string | undefined =>
  new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(info)?.[1]
