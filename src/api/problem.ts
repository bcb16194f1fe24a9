import type { Problem } from '../contract/problem.ts'
import { AppError, type ErrorCode, Raised } from '../errors.ts'

interface ProblemKind {
  readonly status: number
  readonly title: string
  /** Said instead of the error's own message, where that is for the operator and may name hosts or settings. */
  readonly detail?: string
}

const NOT_READY = 'the service is not ready; its operator finds the reason in the log'
const UNREACHABLE = 'the database cannot be reached, or has no free connection; try again later'

/** What each expected failure is over HTTP. Total by type, so a new code has to be given its place here. */
export const PROBLEMS: Readonly<Record<ErrorCode, ProblemKind>> = {
  CONFIG_INVALID: { status: 500, title: 'Configuration is invalid', detail: NOT_READY },
  DATA_FOLDER_IN_USE: { status: 500, title: 'Data folder is in use', detail: NOT_READY },
  DATABASE_UNAVAILABLE: { status: 503, title: 'Database is unavailable', detail: UNREACHABLE },
  DATABASE_UNSUITABLE: { status: 500, title: 'Database is unsuitable' },
  DATABASE_READ_ONLY: { status: 503, title: 'Database is read-only' },
  DATABASE_FAULTY: { status: 500, title: 'Database is damaged' },
  AMBIGUOUS_RELATION: { status: 300, title: 'Relation is ambiguous' },
  INVALID_REQUEST: { status: 400, title: 'Request is invalid' },
  UNAUTHENTICATED: { status: 401, title: 'Not authenticated' },
  FORBIDDEN: { status: 403, title: 'Not permitted' },
  NOT_FOUND: { status: 404, title: 'Not found' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'Method not allowed' },
  AMBIGUOUS_FUNCTION: { status: 300, title: 'Function is ambiguous' },
  RAISED: { status: 400, title: 'A function of the project refused' },
  NOT_ACCEPTABLE: { status: 406, title: 'Not acceptable' },
  REQUEST_TIMEOUT: { status: 408, title: 'Request took too long' },
  CONFLICT: { status: 409, title: 'Conflict' },
  INCOMPLETE: { status: 409, title: 'Rows are missing' },
  GONE: { status: 410, title: 'Gone' },
  ATTACHED_PROJECT: { status: 409, title: 'Project is attached' },
  WRITTEN_SINCE: { status: 409, title: 'Written to since' },
  UNSUPPORTED_VERSION: { status: 412, title: 'Version of the protocol is not supported' },
  BODY_TOO_LARGE: { status: 413, title: 'Body is too large' },
  TOO_MANY_REQUESTS: { status: 429, title: 'Too many requests' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'Unsupported media type' },
  RANGE_NOT_SATISFIABLE: { status: 416, title: 'Range is not satisfiable' },
  SQL_REJECTED: { status: 422, title: 'SQL was rejected' },
  CONSTRAINT_VIOLATED: { status: 422, title: 'Constraint is violated' },
  QUERY_TIMED_OUT: { status: 504, title: 'Query took too long' },
  ARCHIVE_INVALID: { status: 400, title: 'Archive is invalid' },
  BACKUP_INVALID: { status: 400, title: 'Backup is invalid' },
  STORAGE_FULL: { status: 507, title: 'Storage is full' },
  EXPORT_INTERRUPTED: { status: 503, title: 'Export was interrupted' },
  ATTACHED_FAILED: { status: 502, title: 'Attached database failed' },
  REMOTE_FAILED: { status: 502, title: 'Remote server failed' },
  STORAGE_UNAVAILABLE: { status: 503, title: 'Storage is unavailable' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'Idempotency key was used for something else' },
  QUEUE_UNAVAILABLE: { status: 503, title: 'Queue is unavailable' },
  AUTHORIZATION_REVOKED: { status: 403, title: 'Authorization was revoked' },
  WORKER_LOST: { status: 503, title: 'Worker was lost' },
  JOB_TIMED_OUT: { status: 503, title: 'Job took too long' },
  PROOF_FAILED: { status: 500, title: 'Archive could not be restored' },
  FILE_FAILED: { status: 500, title: 'File could not be read or written' },
  WRONG_USE: { status: 400, title: 'Wrong use' },
  PROJECT_BUSY: { status: 503, title: 'Project is busy' },
  NOT_READY: { status: 503, title: 'Not ready' },
  SHUTTING_DOWN: { status: 503, title: 'Shutting down' },
}

export const PROBLEM_TYPE_INTERNAL = 'urn:wharf:error:internal'

/** The `type` of a code's problem documents: `NOT_FOUND` is `urn:wharf:error:not-found`. */
export const problemType = (code: ErrorCode): string => `urn:wharf:error:${code.toLowerCase().replaceAll('_', '-')}`

/**
 * Turns whatever was thrown into a problem document.
 *
 * Only an expected failure may speak for itself: anything else could quote SQL, hosts or a stack.
 */
export function toProblem(thrown: unknown, requestId: string): Problem {
  const instance = `urn:wharf:request:${requestId}`
  if (!(thrown instanceof AppError)) {
    const detail = 'an unexpected error occurred; the request id finds it in the log'
    return { type: PROBLEM_TYPE_INTERNAL, title: 'Internal error', status: 500, detail, instance }
  }
  const { status: usual, title, detail } = PROBLEMS[thrown.code]
  const status = thrown instanceof Raised ? thrown.status : usual
  const problem = { type: problemType(thrown.code), title, status, detail: detail ?? thrown.message, instance }
  return detail !== undefined || thrown.faults.length === 0 ? problem : { ...problem, errors: [...thrown.faults] }
}
