import type { ErrorCode } from '../errors.ts'

export const EXIT = { done: 0, failed: 1, wrongUse: 2, interrupted: 130 } as const

/** What each expected failure is to a shell. Total by type, so a new code has to be given its place here. */
export const EXIT_CODES: Readonly<Record<ErrorCode, typeof EXIT.failed | typeof EXIT.wrongUse>> = {
  CONFIG_INVALID: EXIT.wrongUse,
  DATA_FOLDER_IN_USE: EXIT.failed,
  DATABASE_UNAVAILABLE: EXIT.failed,
  DATABASE_UNSUITABLE: EXIT.failed,
  INVALID_REQUEST: EXIT.failed,
  UNAUTHENTICATED: EXIT.failed,
  FORBIDDEN: EXIT.failed,
  NOT_FOUND: EXIT.failed,
  METHOD_NOT_ALLOWED: EXIT.failed,
  NOT_ACCEPTABLE: EXIT.failed,
  REQUEST_TIMEOUT: EXIT.failed,
  CONFLICT: EXIT.failed,
  WRITTEN_SINCE: EXIT.failed,
  BODY_TOO_LARGE: EXIT.failed,
  UNSUPPORTED_MEDIA_TYPE: EXIT.failed,
  RANGE_NOT_SATISFIABLE: EXIT.failed,
  SQL_REJECTED: EXIT.failed,
  CONSTRAINT_VIOLATED: EXIT.failed,
  QUERY_TIMED_OUT: EXIT.failed,
  ARCHIVE_INVALID: EXIT.failed,
  STORAGE_FULL: EXIT.failed,
  EXPORT_INTERRUPTED: EXIT.failed,
  REMOTE_FAILED: EXIT.failed,
  FILE_FAILED: EXIT.failed,
  WRONG_USE: EXIT.wrongUse,
  NOT_READY: EXIT.failed,
  SHUTTING_DOWN: EXIT.failed,
}
