import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import type { Container } from '../../container.ts'
import { type ExportSelection, exportRequest } from '../../contract/export.ts'
import { requestHash } from '../../jobs/submit.ts'
import { coalesce } from '../../lib/coalesce.ts'
import { gzipMembers } from '../../lib/gzip-members.ts'
import { takesGzip } from '../../lib/weighted-list.ts'
import { type Caller, findCallerAgain, tokenIdOf } from '../../projects/access.ts'
import { assertMayMove } from '../../projects/assert-permission.ts'
import { estimateRows } from '../../transfer/export/export-selection.ts'
import { withExport } from '../../transfer/export/with-export.ts'
import { stream } from '../answer.ts'
import { jsonBody } from '../body.ts'
import { parsePrefer } from '../prefer.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { whileAuthorised } from '../while-authorised.ts'
import { accepted, acceptJob, asyncHeaders, idempotencyOf } from './accept-job.ts'

const route = routesUnder('Data')

const exportProjects = route('POST /export', {
  operationId: 'exportProjects',
  summary: 'Exports projects to one archive',
  description:
    'Streams the archive (JSON Lines). `Content-Encoding: gzip` on the request, whose body is plain JSON ' +
    'nevertheless, or `Accept-Encoding: gzip`, asks for a gzip-compressed one. An export that fails after its first ' +
    'byte ends the connection abnormally, and its archive lacks the `end` line. Needs `content.export` in every ' +
    'project, and `system.export` where the system section is asked for. With `Prefer: respond-async` it is a job, and its ' +
    'archive, always compressed, is at `/jobs/{id}/file`.',
  canWaitLong: true,
  access: { by: 'request', permissions: ['content.export'], system: ['system.export'] },
  headers: z.object({
    ...asyncHeaders,
    'content-encoding': z.string().optional(),
    'accept-encoding': z.string().optional(),
  }),
  body: jsonBody(exportRequest),
  answers: {
    200: stream('application/x-ndjson', 'The archive.', {
      'content-encoding': '`gzip` where the archive is compressed.',
      'content-disposition': 'A name for the file.',
      'wharf-rows-estimate': "How many rows to expect, by PostgreSQL's own estimate; missing where there is none.",
    }),
    202: accepted,
  },
  errors: ['CONFLICT', 'DATABASE_UNAVAILABLE', 'QUEUE_UNAVAILABLE', 'IDEMPOTENCY_KEY_REUSED'],
})

/** `/export` */
export function exportRoutes(container: Container): readonly BoundRoute<Caller>[] {
  return [
    exportProjects.handle<Caller>(async ({ body: { projects }, headers, caller, signal }) => {
      assertMayExport(caller, projects)
      const compressed = wantsGzip(headers)
      const estimate = await estimateRows(container, projects)
      if (parsePrefer(headers.prefer).respondAsync) {
        const newJob = {
          request: { kind: 'export', request: { projects } },
          createdBy: tokenIdOf(caller),
          idempotency: idempotencyOf(headers, () => requestHash(projects)),
        } as const
        return acceptJob(container, newJob, { isPreferred: true })
      }
      const assertStill = async (): Promise<void> =>
        assertMayExport(await findCallerAgain(container.control.prisma, caller), projects)
      return {
        status: 200,
        headers: {
          'content-encoding': compressed ? 'gzip' : undefined,
          'content-disposition': `attachment; filename="${fileName(projects, compressed)}"`,
          'wharf-rows-estimate': estimate > 0 ? String(estimate) : undefined,
        },
        body: (sink) =>
          withExport(
            container,
            projects,
            (archive) => {
              const bytes = compressed ? gzipMembers(archive) : coalesce(archive)
              const authorised = whileAuthorised(bytes, assertStill, container.jobTimings.authorisationMs)
              return pipeline(authorised, sink, { signal })
            },
            { signal },
          ),
      }
    }),
  ]
}

function assertMayExport(caller: Caller, projects: readonly ExportSelection[]): void {
  for (const { slug, system } of projects) assertMayMove(caller, 'export', slug, system)
}

/** The interface document asks for gzip by the request's Content-Encoding; HTTP by Accept-Encoding. Either will do. */
const wantsGzip = (headers: {
  readonly 'content-encoding'?: string | undefined
  readonly 'accept-encoding'?: string | undefined
}): boolean => headers['content-encoding']?.trim().toLowerCase() === 'gzip' || takesGzip(headers['accept-encoding'])

function fileName(projects: readonly ExportSelection[], compressed: boolean): string {
  const [first, ...others] = projects
  const name = first && others.length === 0 ? first.slug : 'projects'
  return `${name}.jsonl${compressed ? '.gz' : ''}`
}
