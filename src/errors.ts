/**
 * Every failure that a caller may branch on. Messages are for people; codes are the contract
 * (`docs/errors.md` explains each).
 */
export type ErrorCode =
  | 'CONFIG_INVALID'
  | 'DATA_FOLDER_IN_USE'
  | 'DATABASE_UNAVAILABLE'
  | 'DATABASE_UNSUITABLE'
  | 'DATABASE_READ_ONLY'
  | 'DATABASE_FAULTY'
  | 'INVALID_REQUEST'
  | 'AMBIGUOUS_RELATION'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'AMBIGUOUS_FUNCTION'
  | 'RAISED'
  | 'NOT_ACCEPTABLE'
  | 'REQUEST_TIMEOUT'
  | 'CONFLICT'
  | 'INCOMPLETE'
  | 'GONE'
  | 'WRITTEN_SINCE'
  | 'ATTACHED_PROJECT'
  | 'UNSUPPORTED_VERSION'
  | 'BODY_TOO_LARGE'
  | 'TOO_MANY_REQUESTS'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RANGE_NOT_SATISFIABLE'
  | 'SQL_REJECTED'
  | 'CONSTRAINT_VIOLATED'
  | 'QUERY_TIMED_OUT'
  | 'ARCHIVE_INVALID'
  | 'BACKUP_INVALID'
  | 'STORAGE_FULL'
  | 'EXPORT_INTERRUPTED'
  | 'REMOTE_FAILED'
  | 'ATTACHED_FAILED'
  | 'STORAGE_UNAVAILABLE'
  | 'FILE_FAILED'
  | 'WRONG_USE'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'QUEUE_UNAVAILABLE'
  | 'AUTHORIZATION_REVOKED'
  | 'WORKER_LOST'
  | 'JOB_TIMED_OUT'
  | 'PROOF_FAILED'
  | 'PROJECT_BUSY'
  | 'NOT_READY'
  | 'SHUTTING_DOWN'

/** One thing that is wrong: in a field (`pointer`, RFC 6901), in a line of a file or of SQL (1-based), or overall. */
export interface Fault {
  readonly pointer?: string
  readonly line?: number
  readonly detail: string
}

/** What PostgREST itself answers in a case, as far as it is known; users of its clients look for its words. */
export interface PostgrestError {
  readonly message?: string
  readonly details?: string | readonly Readonly<Record<string, string>>[] | null
  readonly hint?: string | null
}

export interface AppErrorOptions extends ErrorOptions {
  /** What is wrong in particular, where more than one thing can be. */
  readonly faults?: readonly Fault[]
  /** Seconds after which it is worth trying again. */
  readonly retryAfterSeconds?: number
  /** The code by which PostgREST's clients know it: PostgREST's own, or the SQLSTATE that PostgreSQL would give. */
  readonly postgrestCode?: string
  readonly postgrest?: PostgrestError | undefined
}

/** A failure that we expected and named. Anything else that is thrown is a bug. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  readonly faults: readonly Fault[]
  readonly retryAfterSeconds: number | undefined
  readonly postgrestCode: string | undefined
  readonly postgrest: PostgrestError | undefined

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options)
    this.code = code
    this.faults = options.faults ?? []
    this.retryAfterSeconds = options.retryAfterSeconds
    this.postgrestCode = options.postgrestCode
    this.postgrest = options.postgrest
  }
}

/** What was asked for begins beyond the end. */
export class RangeNotSatisfiable extends AppError {
  /** How much there is, as the header `Content-Range` says it. */
  readonly contentRange: string

  constructor(message: string, contentRange: string, options: AppErrorOptions = {}) {
    super('RANGE_NOT_SATISFIABLE', message, options)
    this.contentRange = contentRange
  }
}

/** What is there does not take this method. */
export class MethodNotAllowed extends AppError {
  /** The methods that it takes, as the header `Allow` has them. */
  readonly allow: string

  constructor(message: string, allow: string, options: AppErrorOptions = {}) {
    super('METHOD_NOT_ALLOWED', message, options)
    this.allow = allow
  }
}

/** What a function of a project raised with a status of its choice. */
export class Raised extends AppError {
  /** A status of HTTP that blames the client, 400 to 499. */
  readonly status: number
  /** What it says beside its message. */
  readonly said: { readonly code: string; readonly details: string | null; readonly hint: string | null }

  constructor(message: string, status: number, said: Raised['said'], options: AppErrorOptions = {}) {
    super('RAISED', message, options)
    this.status = status
    this.said = said
  }
}

/** Whether `error` is an expected failure, and of this code where one is given. */
export function isAppError(error: unknown, code?: ErrorCode): error is AppError {
  return error instanceof AppError && (code === undefined || error.code === code)
}

export const invalidRequest = (
  message: string,
  faults: readonly Fault[] = [],
  postgrestCode?: string,
  postgrest?: PostgrestError,
): AppError =>
  new AppError('INVALID_REQUEST', message, { faults, postgrest, ...(postgrestCode !== undefined && { postgrestCode }) })

export const unauthenticated = (message: string): AppError => new AppError('UNAUTHENTICATED', message)

export const forbidden = (message: string): AppError => new AppError('FORBIDDEN', message)

/**
 * @param what the kind of thing, e.g. `stage`.
 * @param name the name under which it was looked for.
 * @param where it was looked for, e.g. `in project "shop"`.
 */
export const notFound = (what: string, name: string, where = '', options: AppErrorOptions = {}): AppError =>
  new AppError('NOT_FOUND', `there is no ${what} "${name}" ${where}`.trimEnd(), options)

export const conflict = (message: string, faults: readonly Fault[] = []): AppError =>
  new AppError('CONFLICT', message, { faults })

export const databaseUnavailable = (message: string, cause?: unknown): AppError =>
  new AppError('DATABASE_UNAVAILABLE', message, { cause })

export const databaseUnsuitable = (message: string, faults: readonly Fault[] = []): AppError =>
  new AppError('DATABASE_UNSUITABLE', message, { faults })

/** What projects whose stages are in a database of somebody's cannot do. @param remedy what can be done instead. */
export const attachedProject = (slug: string, problem: string, remedy: string): AppError =>
  new AppError('ATTACHED_PROJECT', `project "${slug}" is attached: ${problem}; ${remedy}`)

/** The same of projects that do not share a database: attached ones, and those with one that Wharf made for them. */
export const inOtherDatabase = (slug: string, problem: string, remedy: string): AppError =>
  new AppError('ATTACHED_PROJECT', `project "${slug}" is in a database of its own: ${problem}; ${remedy}`)

/** What was there, and will not be again. */
export const gone = (message: string): AppError => new AppError('GONE', message)

/** @param types the media types that there are. */
export const notAcceptable = (types: readonly string[], options: AppErrorOptions = {}): AppError =>
  new AppError(
    'NOT_ACCEPTABLE',
    `the Accept header excludes ${types.join(' and ')}, and there is nothing else`,
    options,
  )

export const wrongUse = (message: string): AppError => new AppError('WRONG_USE', message)
