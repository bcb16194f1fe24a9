import type { ErrorCode } from '../errors.ts'

/** What to do about what a job failed with, in a sentence: the others say it themselves. */
const ADVICE: Readonly<Partial<Record<ErrorCode | 'INTERNAL', string>>> = {
  ARCHIVE_INVALID: 'Nothing was changed. Take another archive, or export again.',
  INVALID_REQUEST: 'Correct what is named below, and ask again.',
  FORBIDDEN: 'The token lacks a permission that this needs: ask for a role that has it, under People.',
  UNAUTHENTICATED: 'The token is not valid any more: ask for a new one.',
  AUTHORIZATION_REVOKED: 'The token that asked for it may not do so any more: ask for it again with one that may.',
  NOT_FOUND: 'It was there when this was asked for: see whether the project or the stage has been deleted or renamed.',
  CONFLICT: 'Nothing was changed. Resolve what is named below, then ask for it again.',
  INCOMPLETE: 'No archive can hold what is named below: leave these tables out, or accept that their rows are missing.',
  GONE: 'Its archive is there no longer: take another night, or export again.',
  CONSTRAINT_VIOLATED: 'Nothing was changed. Rows break a rule of their table: correct them where they come from.',
  SQL_REJECTED: 'None of it was applied. Correct the line that is named, and apply all of it again.',
  STORAGE_FULL: 'A disk is full: free some room (Server shows how much there is), then ask for it again.',
  STORAGE_UNAVAILABLE: 'Where archives are kept does not answer: see Server, then ask for it again.',
  EXPORT_INTERRUPTED: 'The connection to the database was lost while it was read: ask for it again.',
  DATABASE_UNAVAILABLE: 'The database did not answer: see Server, then ask for it again.',
  DATABASE_READ_ONLY: 'The database takes no writes: see whether it is the primary server.',
  DATABASE_FAULTY: 'PostgreSQL found its own data damaged: see its log before anything else.',
  REMOTE_FAILED: 'The other server refused, or did not answer: what it said stands above.',
  ATTACHED_FAILED: 'The attached database refused, or did not answer: Server shows what its login may do.',
  ATTACHED_PROJECT: 'That is not done in a database that is not Wharf’s: what to do instead stands above.',
  PROJECT_BUSY: 'Something else was under way in the project: ask for it again once that has ended.',
  QUERY_TIMED_OUT: 'It took longer than it may: ask for it again while there is less to do.',
  WORKER_LOST: 'Nothing was changed. The processes that worked on it ended each time: see their log, often for memory.',
  JOB_TIMED_OUT:
    'Nothing was changed. It took longer than a job may: transfer fewer projects at once, or allow more time.',
  PROOF_FAILED: 'The archive could not be restored as it is. Do not rely on it: see what differed, and export again.',
  INTERNAL: 'Look for the id of the job in the log of the service.',
}

/** @returns undefined where the error itself says what to do. */
export const adviceFor = (code: string): string | undefined => ADVICE[code as ErrorCode]
