import { type RedisOptions as AllRedisOptions, Cluster, Redis } from 'ioredis'

type RedisOptions = Omit<AllRedisOptions, 'replyMapping'>

interface Host {
  readonly host: string
  readonly port: number
}

/** Where a Redis is. */
export interface RedisAddress {
  /** With Sentinels, its host is the name that they know the primary server by; of a cluster, it is one of the nodes. */
  readonly url: string
  /** Those that say which server is the primary now; none where the URL says it. */
  readonly sentinels: readonly Host[]
  readonly sentinelPassword: string | undefined
  /** Nodes of the cluster that it is; none where it is none. */
  readonly cluster: readonly Host[]
}

/** A connection to a server, or connections to those of a cluster. */
export type RedisClient = Redis | Cluster

/** Opens a connection to a Redis, or to the primary of several, wherever that is by now. Who opens it closes it. */
export function openRedis(address: RedisAddress, options: RedisOptions): RedisClient {
  if (address.cluster.length > 0) return openCluster(address, options)
  return new Redis(address.url, address.sentinels.length === 0 ? options : throughSentinels(address, options))
}

/** Of any of its nodes, one has to answer; it names the others. */
function openCluster({ url, cluster }: RedisAddress, options: RedisOptions): Cluster {
  const { protocol, hostname, port, username, password } = new URL(url)
  const { lazyConnect, enableOfflineQueue, retryStrategy, ...ofNodes } = options
  const named = { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? REDIS_PORT : Number(port) }
  return new Cluster([named, ...cluster], {
    ...(lazyConnect !== undefined && { lazyConnect }),
    ...(enableOfflineQueue !== undefined && { enableOfflineQueue }),
    ...(retryStrategy && { clusterRetryStrategy: (times) => retryStrategy(times) }),
    // Certificates are for names: nodes are reached by those that they have, not by what these resolve to.
    ...(protocol === 'rediss:' && { dnsLookup: (name, done) => done(null, name) }),
    redisOptions: {
      ...ofNodes,
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  })
}

/** The port of a server where none is named. */
export const REDIS_PORT = 6379

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
