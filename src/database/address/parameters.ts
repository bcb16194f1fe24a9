import { wrongUse } from '../../errors.ts'

/** Parameters of a connection by the names that libpq has for them. */
export type Parameters = Readonly<Record<string, string | undefined>>

/**
 * What Wharf reads, with the variable that sets it where an address says nothing. `PGOPTIONS` is none of them: it is
 * meant for the statements that somebody types, and would change what Wharf's mean.
 */
const READ: Readonly<Record<string, string | undefined>> = {
  host: 'PGHOST',
  hostaddr: 'PGHOSTADDR',
  port: 'PGPORT',
  dbname: 'PGDATABASE',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  passfile: 'PGPASSFILE',
  service: 'PGSERVICE',
  servicefile: 'PGSERVICEFILE',
  options: undefined,
  application_name: 'PGAPPNAME',
  fallback_application_name: undefined,
  connect_timeout: 'PGCONNECT_TIMEOUT',
  channel_binding: 'PGCHANNELBINDING',
  sslmode: 'PGSSLMODE',
  sslnegotiation: 'PGSSLNEGOTIATION',
  sslrootcert: 'PGSSLROOTCERT',
  sslcrl: 'PGSSLCRL',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  sslpassword: undefined,
  sslcertmode: 'PGSSLCERTMODE',
  ssl_min_protocol_version: 'PGSSLMINPROTOCOLVERSION',
  ssl_max_protocol_version: 'PGSSLMAXPROTOCOLVERSION',
}

interface Limited {
  readonly variable?: string
  /** The values that ask for what Wharf does anyway; all others are refused. */
  readonly accepted: readonly string[]
}

/** What libpq can do, and Wharf cannot. */
const LIMITED: Readonly<Record<string, Limited>> = {
  target_session_attrs: { variable: 'PGTARGETSESSIONATTRS', accepted: ['any', 'prefer-standby'] },
  load_balance_hosts: { variable: 'PGLOADBALANCEHOSTS', accepted: ['disable'] },
  gssencmode: { variable: 'PGGSSENCMODE', accepted: ['disable', 'prefer'] },
  krbsrvname: { variable: 'PGKRBSRVNAME', accepted: ['postgres'] },
  gsslib: { variable: 'PGGSSLIB', accepted: [] },
  gssdelegation: { variable: 'PGGSSDELEGATION', accepted: ['0'] },
  require_auth: { variable: 'PGREQUIREAUTH', accepted: [] },
  requirepeer: { variable: 'PGREQUIREPEER', accepted: [] },
  sslsni: { variable: 'PGSSLSNI', accepted: ['1'] },
  sslcompression: { variable: 'PGSSLCOMPRESSION', accepted: ['0'] },
  sslcrldir: { variable: 'PGSSLCRLDIR', accepted: [] },
  sslkeylogfile: { accepted: [] },
  client_encoding: { variable: 'PGCLIENTENCODING', accepted: ['auto', 'utf8', 'utf-8', 'UTF8', 'UTF-8'] },
  replication: { accepted: ['false', 'off', 'no', '0'] },
  keepalives: { accepted: ['1'] },
  keepalives_idle: { accepted: [] },
  keepalives_interval: { accepted: [] },
  keepalives_count: { accepted: [] },
  tcp_user_timeout: { accepted: ['0'] },
  min_protocol_version: { variable: 'PGMINPROTOCOLVERSION', accepted: ['3.0'] },
  max_protocol_version: { variable: 'PGMAXPROTOCOLVERSION', accepted: ['3.0', 'latest'] },
  scram_client_key: { accepted: [] },
  scram_server_key: { accepted: [] },
  oauth_issuer: { accepted: [] },
  oauth_client_id: { accepted: [] },
  oauth_client_secret: { accepted: [] },
  oauth_scope: { accepted: [] },
}

/** Whether libpq knows a parameter of this name. */
export const isParameter = (name: string): boolean => Object.hasOwn(READ, name) || Object.hasOwn(LIMITED, name)

/** What the environment says of connections; a variable that is set to nothing counts as missing. */
export function parametersOf(variables: Readonly<Record<string, string | undefined>>): Parameters {
  const limited = Object.entries(LIMITED).map(([name, { variable }]) => [name, variable] as const)
  const known = [...Object.entries(READ), ...limited]
  return Object.fromEntries(
    known.flatMap(([name, variable]) => {
      const value = variable && variables[variable]
      return value ? [[name, value] as const] : []
    }),
  )
}

/** @throws {AppError} WRONG_USE, with the name of a parameter that asks for what Wharf cannot do. */
export function assertSupported(parameters: Parameters): void {
  for (const [name, { variable, accepted }] of Object.entries(LIMITED)) {
    const value = parameters[name]
    if (value === undefined || accepted.includes(value)) continue
    const names = variable ? `${name} (in the environment: ${variable})` : name
    const instead = accepted.length > 0 ? `, except as ${accepted.join(' or ')}` : ''
    throw wrongUse(`the address of the database sets ${names}, which Wharf does not support${instead}`)
  }
}

/**
 * The value of a parameter that knows only some.
 *
 * @throws {AppError} WRONG_USE, with those that there are, and not with the one that was given.
 */
export function oneOf<const Value extends string>(
  parameters: Parameters,
  name: string,
  values: readonly Value[],
  fallback: NoInfer<Value>,
): Value {
  const value = parameters[name]
  if (value === undefined) return fallback
  const found = values.find((known) => known === value)
  if (found === undefined) throw wrongUse(`${name} of the address is not understood: expected ${values.join(', ')}`)
  return found
}
