import { wrongUse } from '../../errors.ts'
import { isParameter, type Parameters } from './parameters.ts'

/** What an address says, and nothing that it leaves to be filled in. */
export interface PostgresAddress {
  readonly parameters: Parameters
  /** The schemas that it names; libpq knows no such parameter. */
  readonly schemas: readonly string[]
}

/** Whether a text is meant as the address of a PostgreSQL database, well-formed or not. */
export const isPostgresAddress = (text: string): boolean => /^postgres(ql)?:\/\//.test(text)

/** `user:password@`, `host:port`, `/database`, `?parameters`, divided where libpq divides them. */
const ADDRESS = /^postgres(?:ql)?:\/\/(?:([^@/]*)@)?(\[[^\]]*\][^/?]*|[^[/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s

/** A name or an address in brackets, and a port. */
const HOST = /^(?:\[([^\]]+)\]|([^:[\]@]*))(?::(\d*))?$/

/**
 * Reads the address of a database as libpq does, with `schema` as one parameter more, which may come repeatedly.
 *
 * @returns its parts by the names that libpq has for them, decoded; one that is empty is as good as missing.
 * @throws {AppError} WRONG_USE. Nothing of the address is quoted: any part of it may hold a password, mistyped.
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
 */
export function parsePostgresAddress(text: string): PostgresAddress {
  const [, credentials = '', hostSpec = '', database = '', query = ''] = ADDRESS.exec(text) ?? refuse('malformed')
  // libpq would take the rest of a password for it; as a part of the name, it would be shown.
  if (database.includes('@')) throw invalid('malformed')
  if (hostSpec.includes(',')) throw invalid('severalHosts')
  const [, literal, name = '', port = ''] = HOST.exec(hostSpec) ?? refuse('host')
  const [user = '', ...password] = credentials.split(':')
  const fromPath = { user, password: password.join(':'), host: literal ?? name, port, dbname: database }
  const parameters: Record<string, string> = {}
  for (const [key, value] of Object.entries(fromPath)) {
    if (value !== '') parameters[key] = decode(value)
  }
  const schemas: string[] = []
  for (const [index, [key, value]] of splitQuery(query).entries()) {
    if (key === 'schema') schemas.push(value)
    // What other programs write for it, and libpq reads.
    else if (key === 'ssl' && value === 'true') parameters.sslmode = 'require'
    else if (isParameter(key)) parameters[key] = value
    else throw unknownParameter(key, index + 1)
  }
  if (schemas.includes('')) throw invalid('emptySchema')
  return { parameters: withoutEmpty(parameters), schemas: [...new Set(schemas)] }
}

function splitQuery(query: string): (readonly [string, string])[] {
  if (query === '') return []
  return query
    .replace(/&$/, '')
    .split('&')
    .map((pair) => {
      const [key = '', value, ...more] = pair.split('=')
      if (value === undefined || more.length > 0) throw invalid('pair')
      return [decode(key), decode(value)]
    })
}

const withoutEmpty = (parameters: Parameters): Parameters =>
  Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== ''))

/** `+` is no space: libpq reads it as it stands. */
function decode(text: string): string {
  let decoded: string
  try {
    decoded = decodeURIComponent(text)
  } catch {
    throw invalid('encoding')
  }
  if (decoded.includes('\0')) throw invalid('encoding')
  return decoded
}

/** How an address looks, for messages. */
export const FORM = 'postgres://<login>@<host>[:<port>]/<database>'

export const SEVERAL_HOSTS = 'the address names several hosts, which Wharf does not support: name the one to connect to'

const MESSAGES = {
  malformed: `the address of the database is not understood: expected ${FORM}; signs that mean something in it, such as "/" and "@" in a password, are written as %2F and %40`,
  severalHosts: SEVERAL_HOSTS,
  host: `the host or the port of the address is not understood: expected ${FORM}, an IPv6 address in brackets, and "/" and "@" in a password as %2F and %40`,
  pair: 'the parameters of the address are not understood: expected ?<name>=<value>&<name>=<value>; "=" and "&" in a value are written as %3D and %26',
  emptySchema: 'the address names a schema without a name: expected ?schema=<name>',
  encoding:
    'the address has a "%" that does not begin an encoded character: "%" itself is written as %25, and what is encoded is UTF-8 without %00',
} as const

const invalid = (reason: keyof typeof MESSAGES): Error => wrongUse(MESSAGES[reason])

function refuse(reason: keyof typeof MESSAGES): never {
  throw invalid(reason)
}

/** Parameters that other programs put into addresses; to name them gives nothing away. */
const OF_OTHERS: ReadonlySet<string> = new Set([
  ...['pgbouncer', 'connection_limit', 'pool_timeout', 'socket_timeout', 'statement_cache_size', 'sslaccept'],
  ...['sslidentity', 'uselibpqcompat', 'max', 'pool_size', 'prepareThreshold', 'currentSchema', 'ssl', 'supa'],
])

/** @param position of it in the address: what is no parameter may be a part of a password. */
const unknownParameter = (name: string, position: number): Error =>
  wrongUse(
    OF_OTHERS.has(name)
      ? `"${name}" in the address is meant for other programs, and libpq does not know it: leave it out`
      : `parameter ${position} of the address is none that libpq knows${name === 'exclude' ? ': databases are excluded by project:attach --all' : ''}`,
  )
