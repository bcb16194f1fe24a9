import type { IncomingMessage } from 'node:http'

/** Whether a request says that it has a body (RFC 9112, section 6.3). */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** What Node throws away by itself in no time, so that the connection can be used again. */
const MAX_IGNORED_BYTES = 64 * 1024

/** Whether an answer would go out while a body of some size is still coming in. */
export const isStillSending = (request: IncomingMessage): boolean =>
  hasBody(request) && !request.complete && !(Number(request.headers['content-length']) <= MAX_IGNORED_BYTES)
