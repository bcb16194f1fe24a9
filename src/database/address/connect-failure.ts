import { AppError, databaseUnavailable, wrongUse } from '../../errors.ts'
import { errorCode } from '../../lib/error-code.ts'
import { ChannelNotBound } from '../channel-binding.ts'
import { PasswordMissing } from '../client-config.ts'
import { isConnectionLost } from '../connection-lost.ts'
import { SQLSTATE, sqlMessage, sqlState } from '../sqlstate.ts'

const UNREACHABLE = 'it cannot be reached: check its name and the network in between'

/** What went wrong below PostgreSQL's protocol, by the system's or OpenSSL's code, and what to do about it. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: is the server running, and is that its port?',
  ENOENT: 'there is no socket of a server in that folder',
  ENOTFOUND: 'there is no host of this name: check how it is spelt',
  EAI_AGAIN: 'its name could not be looked up: check the network and try again',
  ETIMEDOUT: UNREACHABLE,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name, and sslmode=verify-full does not accept that',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_REVOKED: 'its certificate has been revoked',
}

const UNTRUSTED = 'its certificate is not trusted: sslrootcert names the file with the authority that issued it'

/** OpenSSL's verdicts about a chain of certificates. */
const UNTRUSTED_CODE = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+)$/

/** All that can go wrong with TLS itself. */
const TLS_CODE = /^(ERR_SSL_|ERR_TLS_|ERR_OSSL_|EPROTO$|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|INVALID_CA|HOSTNAME_)/

/** What `pg` says where the server does not begin TLS, in errors without a code. */
const NO_TLS = /^(The server does not support SSL connections|There was an error establishing an SSL connection)/

/** What `pg` and the system say where a server ends the connection instead of beginning TLS. */
const BROKEN_OFF = /^(Connection terminated unexpectedly|Client network socket disconnected)/

/** Whether it was encryption that failed, so that a connection without it may not. */
export function isEncryptionFailure(error: unknown): boolean {
  if (!(error instanceof Error) || sqlState(error) !== undefined) return false
  const code = errorCode(error) ?? ''
  return TLS_CODE.test(code) || code === 'ECONNRESET' || NO_TLS.test(error.message) || BROKEN_OFF.test(error.message)
}

/**
 * Says what it means that a server could not be connected to.
 *
 * @param name the server's, without its password.
 * @returns `error` itself where it is not about the connection.
 */
export function connectFailure(error: unknown, name: string): unknown {
  if (error instanceof AppError) return error
  if (error instanceof PasswordMissing) {
    return wrongUse(
      `${name} asks for a password, and there is none: PGPASSWORD or a password file (~/.pgpass) can hold it`,
    )
  }
  const explanation = explain(error)
  return explanation === undefined
    ? error
    : databaseUnavailable(`no connection to ${name} could be made: ${explanation}`, error)
}

function explain(error: unknown): string | undefined {
  if (error instanceof ChannelNotBound) return error.message
  const message = sqlMessage(error)
  if (message !== undefined) return `${message} (SQLSTATE ${sqlState(error) ?? SQLSTATE.internalError})`
  if (!(error instanceof Error)) return undefined
  const [first] = error instanceof AggregateError ? error.errors : [error]
  const code = errorCode(error) ?? errorCode(first) ?? ''
  if (UNTRUSTED_CODE.test(code)) return UNTRUSTED
  if (EXPLANATIONS[code]) return EXPLANATIONS[code]
  if (NO_TLS.test(error.message)) return 'the server does not encrypt connections, and sslmode asks for it'
  if (TLS_CODE.test(code)) return `encryption failed (${code})`
  if (/^(timeout expired|timeout exceeded|Query read timeout)/.test(error.message)) return 'it did not answer in time'
  if (isConnectionLost(error)) return `the connection broke off${code && ` (${code})`}`
  return undefined
}
