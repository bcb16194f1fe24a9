import type { Container } from '../container.ts'
import { AppError, isAppError } from '../errors.ts'
import { parseRequest } from '../jobs/catalogue.ts'
import { isInDoubt } from '../jobs/in-doubt.ts'
import type { Job } from '../jobs/job.ts'
import { toJobError } from '../jobs/job-error.ts'
import { fail, succeedLate } from '../jobs/transitions.ts'
import { isImported } from './processors/import.ts'

/**
 * Ends a job that cannot go on, where its import may have been committed in a database that is not Wharf's: well where it was, and
 * with that nobody knows where that database is not to be asked.
 *
 * @returns how it ended; undefined where nothing was committed, and the caller may say so.
 */
export async function endInDoubt(container: Container, job: Job): Promise<'succeeded' | 'failed' | undefined> {
  const { prisma } = container.control
  if (!(await isInDoubt(prisma, job.id))) return undefined
  try {
    const done = await isImported({ container, job, attempts: job.attempt }, targetsOf(job), async (tx, result) => {
      await succeedLate(tx, job, result)
    })
    return done ? 'succeeded' : undefined
  } catch (error) {
    await fail(prisma, job, toJobError(isAppError(error, 'CONFLICT') ? error : nobodyKnows(error)))
    return 'failed'
  }
}

function targetsOf(job: Job): readonly string[] {
  const { kind, request } = parseRequest(job.kind, job.request)
  if (kind === 'import') return request.projects.map(({ targetSlug }) => targetSlug)
  return kind === 'transfer' && 'project' in request.target ? [request.target.project] : []
}

const nobodyKnows = (cause: unknown): AppError =>
  new AppError(
    'DATABASE_UNAVAILABLE',
    'the job ended while its import was being committed, and the database of the project cannot be asked: whether the rows were ' +
      'replaced is not known; look at them before you import again',
    { cause },
  )
