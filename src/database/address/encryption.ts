import { createSecureContext } from 'node:tls'
import { wrongUse } from '../../errors.ts'
import { readFileIfThere } from '../../lib/read-file-if-there.ts'
import type { AddressEnvironment } from './environment.ts'
import { readKey, readNamedFile } from './named-files.ts'
import { oneOf, type Parameters } from './parameters.ts'
import { type Encryption, TLS_VERSIONS } from './server-connection.ts'

/** The first one is tried first, and another one where that is refused. */
export type EncryptionChoice = readonly [Encryption | false, ...(Encryption | false)[]]

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const

/** What stands for the authorities that the system trusts, in place of a file's name. */
export const SYSTEM_AUTHORITIES = 'system'

/** Where systems keep their authorities. */
const SYSTEM_FILES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem']

/**
 * Whether and how connections are encrypted, by `sslmode` and its kin, as libpq reads them.
 *
 * @throws {AppError} WRONG_USE where parameters do not go together, or a file cannot be used.
 * @see https://www.postgresql.org/docs/current/libpq-ssl.html
 */
export async function chooseEncryption(
  parameters: Parameters,
  environment: AddressEnvironment,
): Promise<EncryptionChoice> {
  const isSystem = parameters.sslrootcert === SYSTEM_AUTHORITIES
  const mode = oneOf(parameters, 'sslmode', MODES, isSystem ? 'verify-full' : 'prefer')
  const isDirect = oneOf(parameters, 'sslnegotiation', ['postgres', 'direct'], 'postgres') === 'direct'
  if (isSystem && mode !== 'verify-full') throw wrongUse('sslrootcert=system goes with sslmode=verify-full only')
  if (isDirect && ['disable', 'allow', 'prefer'].includes(mode)) {
    throw wrongUse('sslnegotiation=direct goes with sslmode=require, verify-ca and verify-full only')
  }
  if (mode === 'disable') return [false]
  const encryption = await readEncryption(parameters, environment, mode, isDirect)
  if (mode === 'allow') return [false, encryption]
  return mode === 'prefer' ? [encryption, false] : [encryption]
}

async function readEncryption(
  parameters: Parameters,
  environment: AddressEnvironment,
  mode: (typeof MODES)[number],
  isDirect: boolean,
): Promise<Encryption> {
  const isSystem = parameters.sslrootcert === SYSTEM_AUTHORITIES
  const ca = isSystem
    ? await readSystemAuthorities(environment)
    : await readNamedFile('sslrootcert', parameters, environment)
  if (mode.startsWith('verify') && !isSystem && ca === undefined) {
    throw wrongUse(
      `sslmode=${mode} needs the authorities that are trusted: sslrootcert names their file, or is "system"`,
    )
  }
  const minVersion = oneOf(parameters, 'ssl_min_protocol_version', TLS_VERSIONS, 'TLSv1.2')
  const maxVersion = oneOf(parameters, 'ssl_max_protocol_version', TLS_VERSIONS, 'TLSv1.3')
  if (minVersion > maxVersion) throw wrongUse('ssl_min_protocol_version is above ssl_max_protocol_version')
  // With authorities at hand, libpq checks the certificate whatever the mode.
  const check = mode === 'verify-full' ? 'host' : mode === 'verify-ca' || ca !== undefined ? 'authority' : 'nothing'
  const trusted = ca === undefined ? {} : { ca, ...withCrl(await readNamedFile('sslcrl', parameters, environment)) }
  const own = await readOwnCertificate(parameters, environment)
  const encryption: Encryption = { check, ...trusted, ...own, minVersion, maxVersion, isDirect }
  assertUsable(encryption)
  return encryption
}

const withCrl = (crl: string | undefined) => (crl === undefined ? {} : { crl })

async function readOwnCertificate(
  parameters: Parameters,
  environment: AddressEnvironment,
): Promise<Pick<Encryption, 'cert' | 'key' | 'passphrase'>> {
  if (oneOf(parameters, 'sslcertmode', ['disable', 'allow'], 'allow') === 'disable') return {}
  const cert = await readNamedFile('sslcert', parameters, environment)
  if (cert === undefined) return {}
  const key = await readKey(parameters, environment)
  const { sslpassword: passphrase } = parameters
  return { cert, key, ...(passphrase !== undefined && { passphrase }) }
}

/** @returns undefined where the system keeps them elsewhere: then those that Node brings along are trusted. */
async function readSystemAuthorities({ variables }: AddressEnvironment): Promise<string | undefined> {
  for (const path of [variables.SSL_CERT_FILE, ...SYSTEM_FILES]) {
    const text = path ? await readFileIfThere(path) : undefined
    if (text !== undefined) return text
  }
  return undefined
}

function assertUsable({ ca, crl, cert, key, passphrase }: Encryption): void {
  try {
    createSecureContext({ ca, crl, cert, key, passphrase })
  } catch {
    // What OpenSSL says of it is for programmers.
    throw wrongUse(
      'the files of certificates and keys (sslrootcert, sslcrl, sslcert, sslkey) cannot be used: expected PEM, a key that fits its certificate, and sslpassword where the key is encrypted',
    )
  }
}
