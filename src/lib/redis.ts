import { type RedisOptions as AllRedisOptions, Redis } from 'ioredis'

type RedisOptions = Omit<AllRedisOptions, 'replyMapping'>

/** Where a Redis is. */
export interface RedisAddress {
  /** With Sentinels, its host is the name that they know the primary server by. */
  readonly url: string
  /** Those that say which server is the primary now; none where the URL says it. */
  readonly sentinels: readonly { readonly host: string; readonly port: number }[]
  readonly sentinelPassword: string | undefined
}

/** Opens a connection to a Redis, or to the primary of several, wherever that is by now. Who opens it closes it. */
export function openRedis(address: RedisAddress, options: RedisOptions): Redis {
  return new Redis(address.url, address.sentinels.length === 0 ? options : throughSentinels(address, options))
}

function throughSentinels({ url, sentinels, sentinelPassword }: RedisAddress, options: RedisOptions): RedisOptions {
  const { protocol, hostname } = new URL(url)
  const { connectTimeout, retryStrategy } = options
  return {
    ...options,
    sentinels: sentinels.map((each) => ({ ...each })),
    name: decodeURIComponent(hostname),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(protocol === 'rediss:' && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
    ...(connectTimeout !== undefined && { sentinelCommandTimeout: connectTimeout }),
    ...(retryStrategy && { sentinelRetryStrategy: retryStrategy }),
    // A server that is no primary any more says so before it closes the connection: ask the Sentinels anew, and send again.
    reconnectOnError: ({ message }) => (message.startsWith('READONLY') ? 2 : false),
  }
}
