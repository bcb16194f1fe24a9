import type { Database } from '../database/database.ts'
import { conflict } from '../errors.ts'
import { ENDED } from './job.ts'

/**
 * Removes the record of a job that has ended. Its files are not to be had from now on, and go with the next sweep.
 *
 * @throws {AppError} CONFLICT for a job that goes on.
 */
export async function removeJob({ prisma }: Database, id: string): Promise<void> {
  await prisma.$transaction(async (tx) => {
    await tx.artifact.updateMany({
      where: { jobId: id, state: { in: ['writing', 'ready'] }, job: { status: { in: [...ENDED] } } },
      data: { state: 'deleted' },
    })
    const { count } = await tx.job.deleteMany({ where: { id, status: { in: [...ENDED] } } })
    if (count !== 1) throw conflict('the job goes on; cancel it first')
  })
}
