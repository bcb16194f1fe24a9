import { isIP } from 'node:net'
import { type ConnectionOptions, checkServerIdentity } from 'node:tls'
import type pg from 'pg'
import type { Encryption, ServerConnection } from './address/server-connection.ts'
import { socketMaker } from './database-socket.ts'

/** What connections are made to: a connection string as `DATABASE_URL` has it, or an address that was resolved. */
export type ConnectionTarget = string | ServerConnection

/** The server asks for a password, and none is known. */
export class PasswordMissing extends Error {
  override readonly name = 'PasswordMissing'

  constructor() {
    super('the server asks for a password, and there is none')
  }
}

/**
 * What `pg` is told to connect with. An address that was resolved says all that it reads, so that neither the variables
 * of the environment nor password files change it; of a connection string, `PGOPTIONS` does not.
 */
export function clientConfigOf(target: ConnectionTarget): pg.ClientConfig {
  if (typeof target === 'string') {
    return { connectionString: target, stream: socketMaker(undefined), ...optionsOf(optionsInString(target)) }
  }
  const { host, hostAddress, port, user, password, database, encryption, options, lookup } = target
  return {
    host: hostAddress ?? host,
    port,
    user,
    database,
    // An empty one would be looked for elsewhere.
    password: password || refuseToGuess,
    ssl: encryption && tlsOptions(encryption, host),
    sslnegotiation: encryption !== false && encryption.isDirect ? 'direct' : 'postgres',
    client_encoding: 'UTF8',
    ...optionsOf(options),
    stream: socketMaker(lookup),
    ...(target.needsChannelBinding && { enableChannelBinding: true }),
    ...(target.applicationName !== undefined && { application_name: target.applicationName }),
    ...(target.connectTimeoutMs !== undefined && { connectionTimeoutMillis: target.connectTimeoutMs }),
  }
}

const optionsOf = (options: string | undefined): { options?: string } => (options === undefined ? {} : { options })

function refuseToGuess(): never {
  throw new PasswordMissing()
}

function tlsOptions(encryption: Encryption, host: string): ConnectionOptions {
  const { check, ca, crl, cert, key, passphrase, minVersion, maxVersion } = encryption
  return {
    rejectUnauthorized: check !== 'nothing',
    checkServerIdentity: (_, certificate) => (check === 'host' ? checkServerIdentity(host, certificate) : undefined),
    // Of what is connected to by its IP address.
    ...(isIP(host) === 0 && { servername: host }),
    ca,
    crl,
    cert,
    key,
    passphrase,
    minVersion,
    maxVersion,
  }
}

function optionsInString(connectionString: string): string | undefined {
  if (!URL.canParse(connectionString)) return undefined
  return new URL(connectionString).searchParams.get('options') ?? undefined
}
