import type { ComponentChildren } from 'preact'
import type { ErrorCode } from '../errors.ts'

const server = <a href="#/server">Server</a>
const people = <a href="#/people">People</a>
const data = <a href="#/data">Data</a>
const overview = <a href="#/">Overview</a>
const jobs = <a href="#/jobs?status=running">Jobs</a>

/** What a job failed with, and what to do about it where the error itself does not say so. */
const FAILURES: Readonly<
  Partial<Record<ErrorCode | 'INTERNAL', readonly [title: string, advice?: ComponentChildren]>>
> = {
  ARCHIVE_INVALID: [
    'The archive is damaged, or is none',
    <>Nothing was changed. Take another archive ({overview} has those of each project), or export again.</>,
  ],
  INVALID_REQUEST: ['What was asked for cannot be done', 'Correct what is named, and ask again.'],
  FORBIDDEN: [
    'The token lacks a permission',
    <>Ask for a role that has it, or give the token one: {people} shows what each may do.</>,
  ],
  UNAUTHENTICATED: ['The token is not valid any more', <>Ask for a new one, or make one under {people}.</>],
  AUTHORIZATION_REVOKED: [
    'The token that asked for it may not do so any more',
    <>Ask for it again with one that may: {people} shows what each may do.</>,
  ],
  NOT_FOUND: [
    'Something that it needs is not there',
    <>It was there when this was asked for: see under {data} whether the project or the stage is still called so.</>,
  ],
  CONFLICT: ['It does not fit what is there', 'Nothing was changed. Resolve what is named, then ask for it again.'],
  INCOMPLETE: [
    'Rows would be missing',
    'No archive can hold what is named: leave these tables out, or accept that their rows are missing.',
  ],
  GONE: ['Its archive is there no longer', <>Take another night from the {overview}, or export again.</>],
  CONSTRAINT_VIOLATED: [
    'Rows break a rule of their table',
    'Nothing was changed. Correct these rows where they come from, then ask for it again.',
  ],
  SQL_REJECTED: [
    'PostgreSQL refused the SQL',
    'None of it was applied. Correct the line that is named, and apply all of it again.',
  ],
  STORAGE_FULL: ['A disk is full', <>Free some room ({server} shows how much there is), then ask for it again.</>],
  STORAGE_UNAVAILABLE: [
    'Where archives are kept does not answer',
    <>See {server} for what is wrong with it, then ask for it again.</>,
  ],
  EXPORT_INTERRUPTED: ['The export was interrupted', 'Ask for it again.'],
  DATABASE_UNAVAILABLE: ['The database did not answer', <>See {server} whether it does now, then ask for it again.</>],
  DATABASE_READ_ONLY: ['The database takes no writes', 'See whether it is the primary server.'],
  DATABASE_FAULTY: ['PostgreSQL found its own data damaged', 'See the log of PostgreSQL before anything else.'],
  REMOTE_FAILED: [
    'The other server refused, or did not answer',
    'Put right there what it said, then ask for it again.',
  ],
  ATTACHED_FAILED: [
    'The attached database refused, or did not answer',
    <>See {server} for what its login may do, then ask for it again.</>,
  ],
  ATTACHED_PROJECT: ['That is not done in a database that is not Wharf’s'],
  PROJECT_BUSY: [
    'The project was busy',
    <>See {jobs} for what is under way, and ask for it again once that has ended.</>,
  ],
  QUERY_TIMED_OUT: ['A query took longer than it may', 'Ask for it again while there is less to do.'],
  WORKER_LOST: [
    'The processes that worked on it ended',
    'Nothing was changed. See their log for what ended them: often it is memory.',
  ],
  JOB_TIMED_OUT: [
    'It took longer than a job may',
    'Nothing was changed. Transfer fewer projects at once, or allow more time.',
  ],
  PROOF_FAILED: [
    'The archive could not be proven',
    <>
      Earlier archives are still kept. Where a check refused rows, correct these under {data}; where bytes had changed,
      look at the storage ({server}). Then run it again.
    </>,
  ],
  INTERNAL: ['Something went wrong that should not have', 'The id of the job is the end of this page’s address.'],
}

/** What an error is called, and what to do about it; nothing where the error itself says that. */
export function adviceFor(code: string): { readonly title: string; readonly advice: ComponentChildren } {
  const [title = 'It failed', advice] = FAILURES[code as ErrorCode] ?? []
  return { title, advice }
}
