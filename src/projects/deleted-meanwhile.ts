import { setTimeout as delay } from 'node:timers/promises'
import type { Queryable } from '../database/database.ts'
import { isForeignKeyViolation } from '../database/sqlstate.ts'
import { AppError, type ErrorCode, isAppError } from '../errors.ts'

/** Errors about the request itself, which hold whether the project is there or not. */
const ABOUT_THE_REQUEST: ReadonlySet<ErrorCode> = new Set([
  'AMBIGUOUS_RELATION',
  'ARCHIVE_INVALID',
  'FORBIDDEN',
  'INVALID_REQUEST',
  'NOT_ACCEPTABLE',
  'NOT_FOUND',
  'RANGE_NOT_SATISFIABLE',
  'UNAUTHENTICATED',
])

/**
 * Says of work that failed that a project of it was deleted meanwhile, where that is so: its sessions were ended, and
 * what they say of that is neither the server's fault nor a reason to try again.
 *
 * @param slugs of the projects.
 * @throws {AppError} NOT_FOUND where one of them is gone. What `work` throws otherwise.
 */
export async function unlessDeleted<T>(
  control: Queryable,
  slugs: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isAppError(error) && ABOUT_THE_REQUEST.has(error.code)) throw error
    const deleted = await findDeleted(control, slugs)
    if (deleted === undefined) throw error
    throw deletedMeanwhile(`project "${deleted}"`, error)
  }
}

/**
 * Makes rows that belong to others.
 *
 * @param owner what they belong to, for the message.
 * @throws {AppError} NOT_FOUND where that was deleted since it was found. What `make` throws otherwise.
 */
export const unlessOwnerDeleted = <T>(owner: string, make: Promise<T>): Promise<T> =>
  make.catch((error: unknown) => {
    throw isForeignKeyViolation(error) ? deletedMeanwhile(owner, error) : error
  })

const deletedMeanwhile = (what: string, cause: unknown): AppError =>
  new AppError('NOT_FOUND', `${what} was deleted meanwhile; nothing was changed`, { cause })

/** A deletion closes the project's login before anything is gone; for how long it is waited for, in milliseconds. */
const DELETION_MS = 3_000
const PAUSE_MS = 200

/** @returns undefined where all are there, or where that can't be found out: the failure itself says why then. */
async function findDeleted(control: Queryable, slugs: readonly string[]): Promise<string | undefined> {
  const until = performance.now() + DELETION_MS
  for (;;) {
    const found = await control.$queryRaw<{ slug: string; open: boolean }[]>`
      SELECT slug, login IS NULL OR rolcanlogin AS open
        FROM control.project LEFT JOIN pg_catalog.pg_roles ON rolname = login
       WHERE slug = ANY (${[...slugs]}::text[]) AND (login IS NULL OR rolname IS NOT NULL)`.catch(() => undefined)
    if (!found) return undefined
    const deleted = slugs.find((slug) => !found.some((project) => project.slug === slug))
    if (deleted !== undefined || found.every(({ open }) => open) || performance.now() > until) return deleted
    await delay(PAUSE_MS)
  }
}
