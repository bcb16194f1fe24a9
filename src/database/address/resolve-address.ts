import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { wrongUse } from '../../errors.ts'
import { chooseEncryption, SYSTEM_AUTHORITIES } from './encryption.ts'
import { type AddressEnvironment, EMPTY_ENVIRONMENT, usualFile } from './environment.ts'
import { assertSupported, oneOf, type Parameters, parametersOf } from './parameters.ts'
import { FORM, type PostgresAddress, SEVERAL_HOSTS } from './parse-address.ts'
import { type PasswordKey, readPassword } from './password-file.ts'
import { addressName, type ServerChoice, type ServerConnection } from './server-connection.ts'
import { readService } from './service-file.ts'

export interface ResolveOptions {
  /** What fills in what the address leaves out; nothing does where it is left out, but the port. */
  readonly environment?: AddressEnvironment
  /** Whether the address may name files and sockets of this machine: not where somebody else gives it. */
  readonly mayNameFiles?: boolean
}

const DEFAULT_PORT = 5432

/** What names a file of this machine. */
const FILES = ['passfile', 'service', 'servicefile', 'sslrootcert', 'sslcert', 'sslkey', 'sslcrl'] as const

/** Folders where servers make their sockets; clients of libpq look into one of them first. */
const SOCKET_FOLDERS = ['/var/run/postgresql', '/run/postgresql', '/tmp']

/** The longest time that a timer takes, in seconds. */
const MAX_SECONDS = 2_147_483

/**
 * Fills in what an address leaves out, as libpq does and in its order: from the service that is named, the variables of
 * the environment, the password file, and what is usual.
 *
 * @throws {AppError} WRONG_USE where something is missing, not understood or not supported; nothing that was given is
 *   quoted.
 */
export async function resolveAddress(
  address: PostgresAddress,
  { environment = EMPTY_ENVIRONMENT, mayNameFiles = false }: ResolveOptions = {},
): Promise<ServerChoice> {
  if (!mayNameFiles) assertNamesNoFiles(address.parameters)
  const parameters = await completeParameters(address.parameters, environment)
  assertSupported(parameters)
  const base = await readBase(parameters, environment)
  const name = addressName(base)
  const [first, ...others] = isSocket(base.host) ? ([false] as const) : await chooseEncryption(parameters, environment)
  const [otherwise] = others
  return {
    first: { name, ...base, encryption: first },
    ...(otherwise !== undefined && { otherwise: { name, ...base, encryption: otherwise } }),
  }
}

/** A Unix socket's folder, or its name in the abstract namespace. */
const isSocket = (host: string): boolean => /^[/@]|^[a-z]:[/\\]/i.test(host)

function assertNamesNoFiles(parameters: Parameters): void {
  const isFile = (name: string, value: string | undefined): boolean =>
    value !== undefined && (name !== 'sslrootcert' || value !== SYSTEM_AUTHORITIES)
  const named = FILES.find((name) => isFile(name, parameters[name]))
  if (named !== undefined) {
    throw wrongUse(`the address sets ${named}, a file of this machine, which an address may not do here`)
  }
  if (isSocket(parameters.host ?? '')) {
    throw wrongUse('the address names a Unix socket of this machine, which an address may not do here')
  }
}

async function completeParameters(given: Parameters, environment: AddressEnvironment): Promise<Parameters> {
  const variables = parametersOf(environment.variables)
  const service = given.service ?? variables.service
  if (service === undefined) return { ...variables, ...given }
  const fromService = await readService(service, given.servicefile ?? variables.servicefile, environment)
  return { ...variables, ...fromService, ...given }
}

type Base = Omit<ServerConnection, 'name' | 'encryption'>

async function readBase(parameters: Parameters, environment: AddressEnvironment): Promise<Base> {
  const { hostaddr, application_name: applicationName = parameters.fallback_application_name, options } = parameters
  if (hostaddr !== undefined && isIP(hostaddr) === 0) throw wrongUse('hostaddr of the address is no IP address')
  const port = readPort(parameters.port)
  const host = parameters.host ?? hostaddr ?? (environment.userName && usualHost(port))
  const user = parameters.user ?? environment.userName
  // An address that somebody else gives says all that matters.
  const database = parameters.dbname ?? (environment.userName && user)
  if (!host) throw wrongUse(`the address names no host: expected ${FORM}`)
  if (host.includes(',')) throw wrongUse(SEVERAL_HOSTS)
  if (host.startsWith('@')) throw wrongUse('Wharf does not support abstract Unix sockets: name a folder, or a host')
  if (!user) throw wrongUse(`the address names no login: expected ${FORM}`)
  if (!database) throw wrongUse(`the address names no database: expected ${FORM}`)
  const key = { host: SOCKET_FOLDERS.includes(host) ? 'localhost' : host, port, database, user }
  const password = parameters.password ?? (await readPasswordFile(parameters, key, environment))
  const connectTimeoutMs = readTimeout(parameters.connect_timeout)
  const channelBinding = oneOf(parameters, 'channel_binding', ['disable', 'prefer', 'require'], 'prefer')
  return {
    host,
    port,
    user,
    database,
    ...(password !== undefined && { password }),
    ...(hostaddr !== undefined && { hostAddress: hostaddr }),
    ...(channelBinding === 'require' && { needsChannelBinding: true }),
    ...(options !== undefined && { options }),
    ...(applicationName !== undefined && { applicationName }),
    ...(connectTimeoutMs !== undefined && { connectTimeoutMs }),
  }
}

function usualHost(port: number): string {
  const hasSocket = (folder: string): boolean => existsSync(join(folder, `.s.PGSQL.${port}`))
  return (process.platform !== 'win32' && SOCKET_FOLDERS.find(hasSocket)) || 'localhost'
}

function readPort(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw wrongUse('the port of the address is not understood: expected 1 to 65535')
  return port
}

/** 0 and less stand for no limit of the address's own. */
function readTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\s*[+-]?\d{1,9}\s*$/.test(text)) throw wrongUse('connect_timeout of the address is no number of seconds')
  const seconds = Math.min(Number(text), MAX_SECONDS)
  return seconds > 0 ? seconds * 1_000 : undefined
}

async function readPasswordFile(
  { passfile }: Parameters,
  key: PasswordKey,
  environment: AddressEnvironment,
): Promise<string | undefined> {
  const path = passfile ?? usualFile(environment, 'passfile')
  return path === undefined ? undefined : readPassword(path, key, environment.warn)
}
