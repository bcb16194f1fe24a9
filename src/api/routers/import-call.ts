import { z } from 'zod'
import { MAX_READING_SESSIONS } from '../../contract/export.ts'
import { slug } from '../../contract/fields.ts'
import { importAnswerSchema } from '../../contract/import.ts'
import type { Caller } from '../../projects/access.ts'
import { json } from '../answer.ts'
import { optionalInteger, queryFlag } from '../query.ts'
import { accepted, asyncHeaders } from './accept-job.ts'

const query = z.object({
  targetSlug: slug.optional().meta({ description: 'Where the data goes, for one project.' }),
  project: slug.optional().meta({
    description:
      'Imports this project of the archive, and none of the others, of which nothing is checked. Faults count the lines of ' +
      'this project alone, as if the others had none.',
  }),
  dryRun: queryFlag().meta({ description: 'Does all the checks, and answers with what would happen.' }),
  allowEdited: queryFlag().meta({
    description: 'Accepts an archive whose rows were edited: counts and sums may disagree.',
  }),
  allowIncomplete: queryFlag().meta({
    description: 'Accepts an archive that lacks rows of what it was made from. By default that is refused.',
  }),
  jobs: optionalInteger({ min: 1, max: MAX_READING_SESSIONS }).meta({
    description:
      'How many sessions load one stage side by side, at most. By default one more than the server has processors, up to 4. ' +
      'One does where connections are needed for others (`WHARF_HELPING_SESSIONS`), for small archives, in a database of ' +
      'your own, and where the order of the tables can matter. The rows are the same for any number.',
  }),
})

const headers = z.object(asyncHeaders)

/** What the calls that import an archive have in common, wherever it comes from. */
export const IMPORT_CALL = {
  query,
  headers,
  answers: {
    200: json(importAnswerSchema, 'The archive has been imported; or could be, where `dryRun` was asked for.'),
    202: accepted,
  },
  errors: [
    'CONFLICT',
    'INCOMPLETE',
    'ARCHIVE_INVALID',
    'ATTACHED_FAILED',
    'ATTACHED_PROJECT',
    'DATABASE_UNAVAILABLE',
    'QUEUE_UNAVAILABLE',
    'STORAGE_FULL',
    'STORAGE_UNAVAILABLE',
    'IDEMPOTENCY_KEY_REUSED',
  ],
} as const

/** A call that imports an archive. */
export interface ImportCall {
  readonly query: z.output<typeof query>
  readonly headers: z.output<typeof headers>
  readonly caller: Caller
  readonly signal: AbortSignal
}
