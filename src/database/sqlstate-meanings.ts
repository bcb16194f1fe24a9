import pg from 'pg'
import { AppError, type ErrorCode, isAppError } from '../errors.ts'
import { isConnectionLost } from './connection-lost.ts'
import { sqlState } from './sqlstate.ts'

/** Who has to do something about it. */
export type Blamed =
  /** Nobody: it passes by itself. */
  | 'nobody'
  /** The operator of the database. */
  | 'operator'
  /** Somebody who does something with the same things at the same time. */
  | 'neighbour'

interface Meaning {
  readonly blamed: Blamed
  readonly code: ErrorCode
  /** What happened, and what to do. Names no host, no statement and no value. */
  readonly message: string
  /** After how many seconds it is worth trying the same again; undefined where somebody has to do something first. */
  readonly retryAfterSeconds?: number
}

const UNREACHABLE: Meaning = {
  blamed: 'nobody',
  code: 'DATABASE_UNAVAILABLE',
  message: 'the database could not be reached; try again later',
  retryAfterSeconds: 5,
}

/** Not the server but the project's login has as many sessions as it may have. */
const LOGIN_FULL: Meaning = {
  blamed: 'neighbour',
  code: 'PROJECT_BUSY',
  message: "the project's database login has as many sessions as it may have; end some of them",
  retryAfterSeconds: 30,
}

/** Whether a connection was refused for that. It has the code of a server that is full. */
export const isLoginFull = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '53300' && error.routine === 'InitializeSessionUserId'

/** Whether a session was refused because the server, or the login, has as many as it may have. */
export const isWithoutSession = (error: unknown): boolean =>
  sqlState(error) === '53300' || (error instanceof AppError && isWithoutSession(error.cause))

/**
 * What PostgreSQL's codes mean to a caller where they are not about what was asked; the first that fits counts.
 * `docs/errors.md` has the same table for people.
 *
 * Codes about what was asked (data, constraints, syntax, rights, limits of a statement) are not here: they mean one thing
 * of a query string, another of a script, and a third of an archive.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const MEANINGS: readonly (Meaning & { readonly states: RegExp })[] = [
  {
    // Connection exceptions, shutdown, crash, no room for a session, and the clocks that end one: idle_session_timeout,
    // idle_in_transaction_session_timeout, transaction_timeout.
    states: /^(08...|57P0[1235]|53300|25P0[34])$/,
    ...UNREACHABLE,
  },
  {
    states: /^57014$/,
    blamed: 'operator',
    code: 'QUERY_TIMED_OUT',
    message: 'the statement was cancelled in the database, and nothing was changed; try again later, or ask for less',
  },
  {
    states: /^25006$/,
    blamed: 'operator',
    code: 'DATABASE_READ_ONLY',
    message: 'the database takes no writes at present, and nothing was changed; try again later',
    retryAfterSeconds: 30,
  },
  {
    states: /^53[14]00$/,
    blamed: 'operator',
    code: 'STORAGE_FULL',
    message: 'the database has no room left on its disk, and nothing was changed; its operator has to free some',
  },
  {
    states: /^53...$/,
    blamed: 'operator',
    code: 'DATABASE_UNAVAILABLE',
    message: 'the database has too little memory for this now; try again later',
    retryAfterSeconds: 30,
  },
  {
    // The login is refused, or the database is not there any more.
    states: /^(28...|3D000|57P04)$/,
    blamed: 'operator',
    code: 'DATABASE_UNAVAILABLE',
    message: 'the database refuses the login; its operator finds the reason in the log',
    retryAfterSeconds: 30,
  },
  {
    // The system under PostgreSQL fails, or what it reads is damaged.
    states: /^(58...|XX00[12])$/,
    blamed: 'operator',
    code: 'DATABASE_FAULTY',
    message: 'PostgreSQL reports that its disk or its data is damaged; its operator finds more in its log',
  },
  {
    states: /^40(001|P01)$/,
    blamed: 'neighbour',
    code: 'CONFLICT',
    message: 'somebody else changed the same things at the same time; nothing was changed, try again',
    retryAfterSeconds: 1,
  },
  {
    states: /^55P03$/,
    blamed: 'neighbour',
    code: 'CONFLICT',
    message: 'somebody else holds what is needed locked; nothing was changed, try again later',
    retryAfterSeconds: 10,
  },
]

/** Whether PostgreSQL says that its disk or its data is damaged, be it the cause of an expected failure: operators have to know. */
export const reportsDamage = (error: unknown): boolean =>
  /^(58...|XX00[12])$/.test(sqlState(error) ?? '') || (error instanceof AppError && reportsDamage(error.cause))

const meaningOf = (error: unknown): Meaning | undefined => {
  const state = sqlState(error)
  if (state === undefined) return isConnectionLost(error) ? UNREACHABLE : undefined
  return MEANINGS.find(({ states }) => states.test(state))
}

/**
 * What a failure of the database means to the caller, where that is not about what was asked; undefined where it is,
 * where the failure is a bug, and where it is an expected failure already.
 *
 * @param error anything that was thrown, by `pg` or by Prisma.
 */
export function databaseFailure(error: unknown): AppError | undefined {
  const meaning = isLoginFull(error) ? LOGIN_FULL : meaningOf(error)
  if (!meaning) return undefined
  const { code, message, retryAfterSeconds } = meaning
  const retry = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  return new AppError(code, message, { ...retry, cause: error })
}

/**
 * Whether a failure is the server's, so that it says nothing about the SQL that was being run: that of `databaseFailure`
 * for which no neighbour is to blame, and what PostgreSQL calls internal errors.
 */
export function isServerFailure(error: unknown): boolean {
  const blamed = meaningOf(error)?.blamed
  return blamed === 'nobody' || blamed === 'operator' || (sqlState(error)?.startsWith('XX') ?? false)
}

/**
 * What PostgreSQL refuses of the SQL and the rows that it was given; undefined where the failure is not about them, so that
 * `databaseFailure` says what it is.
 *
 * - `constraint`: rows break one.
 * - `statement`: what it says is not supported, not allowed, of wrong syntax, or names what is not there. Its message is
 *   about SQL alone.
 * - `expression`: it fails when it is evaluated. Its message may quote a row.
 */
export function refusedPart(error: unknown): 'constraint' | 'statement' | 'expression' | undefined {
  if (!(error instanceof pg.DatabaseError) || isServerFailure(error) || meaningOf(error)) return undefined
  const kind = sqlState(error)?.slice(0, 2) ?? ''
  if (kind === '23') return 'constraint'
  return ['0A', '2B', '2F', '3F', '42', '54', '55'].includes(kind) ? 'statement' : 'expression'
}

/**
 * How a failure is logged of what is tried again and again: where the database cannot be reached, that is said once, and not
 * by each of those that need it.
 */
export const retryLevel = (error: unknown, level: 'warn' | 'error' = 'warn'): 'debug' | 'warn' | 'error' =>
  isAppError(databaseFailure(error) ?? error, 'DATABASE_UNAVAILABLE') ? 'debug' : level
