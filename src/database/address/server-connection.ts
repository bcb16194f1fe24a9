import { isIPv6, type LookupFunction } from 'node:net'

/** How a connection is encrypted, and what is asked of the server's certificate. Keys and certificates are PEM. */
export interface Encryption {
  /** Who issued it, and whether it is for the host; in terms of `sslmode`: require, verify-ca, verify-full. */
  readonly check: 'nothing' | 'authority' | 'host'
  /** The authorities that are trusted; those that Node trusts where it is left out. */
  readonly ca?: string
  /** Certificates that the authorities have revoked. */
  readonly crl?: string
  /** The client's own certificate. */
  readonly cert?: string
  readonly key?: string
  readonly passphrase?: string
  readonly minVersion?: TlsVersion
  readonly maxVersion?: TlsVersion
  /** Whether TLS begins without asking PostgreSQL first. */
  readonly isDirect?: boolean
}

export const TLS_VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const
export type TlsVersion = (typeof TLS_VERSIONS)[number]

/** All that it takes to connect to a database as one login. Holds secrets: not for logs or messages, where `name` is. */
export interface ServerConnection {
  /** Its address without password and parameters: `postgres://app@db.example:5432/app`. */
  readonly name: string
  /** A name, an IP address, or the folder of a Unix socket. */
  readonly host: string
  /** The IP address to connect to, where `host` is not to be looked up. */
  readonly hostAddress?: string
  readonly port: number
  readonly user: string
  readonly password?: string
  readonly database: string
  readonly encryption: Encryption | false
  /** Whether the server has to prove that nobody stands in between (SCRAM with channel binding). */
  readonly needsChannelBinding?: boolean
  /** Settings that the server is asked for, as `-c name=value`. */
  readonly options?: string
  readonly applicationName?: string
  readonly connectTimeoutMs?: number
  /** Finds the addresses of the host's name; the system does where it is left out. */
  readonly lookup?: LookupFunction
}

/** A server with which it is not settled yet whether connections are encrypted: `sslmode` prefer and allow. */
export interface ServerChoice {
  readonly first: ServerConnection
  /** What is tried where the first one is refused. */
  readonly otherwise?: ServerConnection
}

/** How messages name a server: by its address, without password and parameters. */
export function addressName({ host, port, user, database }: Omit<ServerConnection, 'name' | 'encryption'>): string {
  const at = isIPv6(host) ? `[${host}]` : encodeURIComponent(host)
  return `postgres://${encodeURIComponent(user)}@${at}:${port}/${encodeURIComponent(database)}`
}
