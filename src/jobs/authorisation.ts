import type { Queryable, Transaction } from '../database/database.ts'
import { AppError, isAppError } from '../errors.ts'
import { type Caller, findCaller, lockRights } from '../projects/access.ts'
import { assertMayMove } from '../projects/assert-permission.ts'
import { type AnyJobRequest, parseRequest, selectionsOf } from './catalogue.ts'
import type { Job } from './job.ts'

/** The projects of this server that a job reads or replaces, by slug. */
export function projectsOf({ kind, request }: AnyJobRequest): readonly string[] {
  switch (kind) {
    case 'export':
      return selectionsOf(request).map(({ slug }) => slug)
    case 'import':
      return request.projects.map(({ targetSlug }) => targetSlug)
    case 'transfer':
      return [request.source, request.target].flatMap((end) => ('project' in end ? [end.project] : []))
  }
}

/**
 * Makes sure that the caller may do, today, what the job does.
 *
 * @throws {AppError} NOT_FOUND, FORBIDDEN, as `assertPermission`.
 */
export function assertMayRun(caller: Caller, { kind, request }: AnyJobRequest): void {
  switch (kind) {
    case 'export':
      for (const { slug, system } of selectionsOf(request)) assertMayMove(caller, 'export', slug, system)
      return
    case 'import':
      for (const { targetSlug, system } of request.projects) assertMayMove(caller, 'import', targetSlug, system)
      return
    case 'transfer':
      if ('project' in request.source) assertMayMove(caller, 'export', request.source.project, request.system)
      if ('project' in request.target) assertMayMove(caller, 'import', request.target.project, request.system)
      // Between two other servers, this one would merely lend its address.
      if (projectsOf({ kind, request }).length === 0) {
        throw new AppError('INVALID_REQUEST', 'one end of a transfer must be a project of this server')
      }
  }
}

/**
 * Looks again whether the token that asked for a job may still have it done: at its start, and now and then while it
 * runs.
 *
 * @returns who asked for it, as they are today.
 * @throws {AppError} AUTHORIZATION_REVOKED
 */
export async function assertStillAuthorised(control: Queryable, job: Job): Promise<Caller> {
  const caller = await findCaller(control, job.createdBy)
  if (!caller) throw revoked('the token that asked for it has been revoked or has expired')
  try {
    assertMayRun(caller, parseRequest(job.kind, job.request))
    return caller
  } catch (error) {
    if (isAppError(error)) throw revoked(error.message)
    throw error
  }
}

/**
 * The same in the transaction that makes the job's result visible; what was found stays as it is until that ends.
 *
 * @throws {AppError} AUTHORIZATION_REVOKED
 */
export async function lockAuthorisation(tx: Transaction, job: Job): Promise<Caller> {
  await lockRights(tx, job.createdBy, projectsOf(parseRequest(job.kind, job.request)))
  return assertStillAuthorised(tx, job)
}

const revoked = (reason: string): AppError =>
  new AppError('AUTHORIZATION_REVOKED', `the job may not go on: ${reason}; nothing was changed`)
