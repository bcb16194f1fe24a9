import { AppError, isAppError } from '../errors.ts'
import { errorCode } from '../lib/error-code.ts'

const NO_ROUTE = 'it cannot be reached: check its name and the network in between'
const BROKE_OFF = 'the connection broke off'

/** What went wrong below HTTP, by Node's, OpenSSL's or undici's code, and what to do about it. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: is the server running, and is that its port (4000 by default)?',
  ENOTFOUND: 'there is no host of this name: check how it is spelt',
  EAI_AGAIN: 'its name could not be looked up: check the network and try again',
  UND_ERR_CONNECT_TIMEOUT: NO_ROUTE,
  ETIMEDOUT: NO_ROUTE,
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  ECONNRESET: BROKE_OFF,
  EPIPE: BROKE_OFF,
  UND_ERR_SOCKET: BROKE_OFF,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: BROKE_OFF,
  EPROTO: 'it does not speak TLS: for plain http, write wharf+http:// instead of wharf://',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS: for plain http, write wharf+http:// instead of wharf://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS: for plain http, write wharf+http:// instead of wharf://',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  CERT_HAS_EXPIRED: 'its certificate has expired',
}

const UNTRUSTED =
  'its certificate is not trusted: NODE_EXTRA_CA_CERTS can name a file with the authority that issued it'

/** OpenSSL's verdicts about a chain of certificates. */
const UNTRUSTED_CODE = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+)$/

/**
 * Says what it means that a request, or its answer, did not come through.
 *
 * @param request origin: the server's, without credentials; requestId: as the server gave it, once it had answered.
 * @returns `error` itself where it is not about the connection.
 */
export function toConnectionFailure(
  error: unknown,
  { origin, requestId }: { readonly origin: string; readonly requestId?: string | undefined },
): unknown {
  const code = errorCode(error)
  if (code === undefined) return error
  const explanation = UNTRUSTED_CODE.test(code) ? UNTRUSTED : (EXPLANATIONS[code] ?? unexplained(code))
  if (explanation === undefined) return error
  const inLog = requestId === undefined ? '' : ` (request ${requestId} in the server's log)`
  return new AppError('REMOTE_FAILED', `the request to ${origin} failed: ${explanation}${inLog}`, { cause: error })
}

/** Whether something went wrong on the way, so that it is not known what the server did; not where it refused. */
export const isConnectionFailure = (error: unknown): error is AppError =>
  isAppError(error, 'REMOTE_FAILED') && error.cause !== undefined

const unexplained = (code: string): string | undefined =>
  code.startsWith('HPE_') ? 'its answer is not HTTP: is it another port, or https (wharf+https://)?' : undefined
