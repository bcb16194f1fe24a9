import { availableParallelism } from 'node:os'
import { wrongUse } from '../../errors.ts'
import type { SelectionOptions } from '../export/export-selection.ts'

/** More processors than these would wait for the one that makes the archive of what the others read. */
const USUAL_JOBS = 4

/** Each is a session of the database. */
const MAX_JOBS = 32

/**
 * How many sessions read a database side by side: as many as the machine has processors, up to 4, where nobody says.
 *
 * @throws {AppError} WRONG_USE
 */
export function readJobs({ jobs }: SelectionOptions): number {
  if (jobs === undefined) return Math.min(availableParallelism(), USUAL_JOBS)
  const count = Number(jobs)
  if (/^[1-9]\d?$/.test(jobs) && count <= MAX_JOBS) return count
  throw wrongUse(`--jobs must be a whole number from 1 to ${MAX_JOBS}`)
}
