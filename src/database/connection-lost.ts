import pg from 'pg'
import { errorCode } from '../lib/error-code.ts'
import { driverErrorOf } from './sqlstate.ts'

/** Codes of the system for a connection that cannot be made, or that broke. */
const SYSTEM_CODES: ReadonlySet<string | undefined> = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
])

/**
 * Prisma's codes for the same, and for having no connection to spare.
 *
 * @see https://www.prisma.io/docs/orm/reference/error-reference
 */
const PRISMA_CODES: ReadonlySet<string | undefined> = new Set([
  'P1001',
  'P1002',
  'P1008',
  'P1017',
  'P2024',
  'P2028',
  'P2037',
])

/** What Prisma's adapter calls the same. */
const DRIVER_KINDS: ReadonlySet<string | undefined> = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
])

/**
 * What `pg` says, in errors without a code, of a connection that broke, that did not come about in time, or on which no
 * answer came.
 */
const PG_MESSAGE =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|timeout expired$|Query read timeout$|Client was closed and is not queryable|Cannot use a pool after calling end)/

/**
 * Whether the connection to the database could not be had or broke, where PostgreSQL itself said nothing about it.
 *
 * @param error anything that was thrown, by `pg` or by Prisma.
 */
export function isConnectionLost(error: unknown): boolean {
  // What PostgreSQL says can have any text: that of an exception that a project's function raised.
  if (!(error instanceof Error) || error instanceof pg.DatabaseError) return false
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isConnectionLost)
  return (
    PRISMA_CODES.has(errorCode(error)) ||
    DRIVER_KINDS.has(driverErrorOf(error)?.kind) ||
    isSocketFailure(error) ||
    PG_MESSAGE.test(error.message)
  )
}

/** The system call tells a socket from a file, which can be missing with the same code. */
const isSocketFailure = (error: Error): boolean =>
  SYSTEM_CODES.has(errorCode(error)) &&
  'syscall' in error &&
  /^(connect|read|write|getaddrinfo)$/.test(String(error.syscall))
