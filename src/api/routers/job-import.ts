import { z } from 'zod'
import type { Container } from '../../container.ts'
import { id } from '../../contract/fields.ts'
import { findOutput } from '../../jobs/job-output.ts'
import { assertMayTakeResult, findJob } from '../../jobs/read-jobs.ts'
import { readOutput } from '../../jobs/read-output.ts'
import { type Caller, findCallerAgain } from '../../projects/access.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { whileAuthorised } from '../while-authorised.ts'
import { answerImport } from './answer-import.ts'
import { IMPORT_CALL } from './import-call.ts'

const route = routesUnder('Jobs')

const importJobFile = route('POST /jobs/{id}/import', {
  ...IMPORT_CALL,
  operationId: 'importJobFile',
  summary: 'Imports the archive that an export has made',
  description:
    'As `POST /import`, with the archive that this server keeps instead of a body. Needs what downloading it needs, and what ' +
    'importing it needs. The archive stays.',
  access: { by: 'asker', of: 'job' },
  params: z.object({ id }),
  errors: [...IMPORT_CALL.errors, 'FORBIDDEN', 'GONE'],
})

/** `/jobs/{id}/import` */
export function jobImportRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { control } = container
  return [
    importJobFile.handle<Caller>(async ({ params, ...call }) => {
      const job = await findJob(control, call.caller, params.id)
      await assertMayTakeResult(control, call.caller, job)
      const archive = readOutput(container, await findOutput(control.prisma, job))
      const assertStill = async (): Promise<void> =>
        assertMayTakeResult(control, await findCallerAgain(control.prisma, call.caller), job)
      const bytes = whileAuthorised(archive, assertStill, container.jobTimings.authorisationMs)
      return answerImport(container, bytes, call, { jobId: job.id, createdAt: job.createdAt.toISOString() })
    }),
  ]
}
