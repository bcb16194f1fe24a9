import type { AddressEnvironment } from '../../database/address/environment.ts'
import { parsePostgresAddress } from '../../database/address/parse-address.ts'
import { resolveAddress } from '../../database/address/resolve-address.ts'
import type { ServerChoice, ServerConnection } from '../../database/address/server-connection.ts'
import { wrongUse } from '../../errors.ts'

export interface CompleteAddress {
  /** Says all that matters by itself. Holds the password. */
  readonly text: string
  /** The same without password and parameters. */
  readonly name: string
  readonly hasPassword: boolean
  /** The schemas that it named. */
  readonly schemas: readonly string[]
  readonly host: string
  readonly port: number
}

export interface CompleteOptions {
  /** Instead of the one that is found. */
  readonly password?: string
  /** The database where the address itself names none. */
  readonly usualDatabase?: string
}

/** What names files of this machine, and what is said in the other parts of an address. */
const LEFT_OUT = new Set([
  ...['passfile', 'service', 'servicefile', 'sslcert', 'sslkey', 'sslpassword', 'sslcrl'],
  ...['user', 'password', 'host', 'port', 'dbname'],
])

/**
 * Makes an address complete for a service that reads nothing of this machine: what it leaves out comes from the
 * environment, as psql has it.
 *
 * @throws {AppError} WRONG_USE; nothing of the address is quoted.
 */
export async function completeAddress(
  given: string,
  environment: AddressEnvironment,
  { password, usualDatabase }: CompleteOptions = {},
): Promise<CompleteAddress> {
  const { parameters: named, schemas } = parsePostgresAddress(given)
  const parameters = usualDatabase === undefined ? named : { dbname: usualDatabase, ...named }
  const choice = await resolveAddress({ parameters, schemas }, { environment, mayNameFiles: true })
  const { first } = choice
  assertReachable(first)
  const known = password ?? first.password
  const { sslmode = modeOf(choice), ...others } = parameters
  const rest = Object.entries(others).filter(([name, value]) => value !== undefined && !LEFT_OUT.has(name))
  const query = [['sslmode', sslmode], ...rest].map((pair) =>
    pair.map((part) => encodeURIComponent(part ?? '')).join('='),
  )
  const login = `${encodeURIComponent(first.user)}${known === undefined ? '' : `:${encodeURIComponent(known)}`}`
  const host = first.host.includes(':') ? `[${first.host}]` : first.host
  const text = `postgres://${login}@${host}:${first.port}/${encodeURIComponent(first.database)}?${query.join('&')}`
  return { text, name: first.name, hasPassword: known !== undefined, schemas, host: first.host, port: first.port }
}

function assertReachable({ host, encryption }: ServerConnection): void {
  if (/^([/@]|[a-z]:[/\\])/i.test(host)) {
    throw wrongUse(
      'the service connects by TCP, not by a Unix socket: name a host, e.g. postgres://login@localhost/database',
    )
  }
  if (encryption !== false && (encryption.cert !== undefined || encryption.crl !== undefined)) {
    throw wrongUse(
      'the service has no files of yours, so a certificate of a client (sslcert) or a list of revoked ones (sslcrl) cannot be used for it',
    )
  }
}

/** What the environment says of encryption, in the word that an address has for it. */
function modeOf({ first, otherwise }: ServerChoice): string {
  if (first.encryption === false) return otherwise ? 'allow' : 'disable'
  if (otherwise) return 'prefer'
  if (first.encryption.check === 'host') return 'verify-full'
  return first.encryption.check === 'authority' ? 'verify-ca' : 'require'
}
