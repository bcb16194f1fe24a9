import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { compressArchive } from '../../archive/compress-archive.ts'
import type { Container } from '../../container.ts'
import { type ExportSelection, exportDryRunRequest, exportDryRunSchema, exportRequest } from '../../contract/export.ts'
import { assertCanCompress } from '../../jobs/compression.ts'
import { requestHash } from '../../jobs/submit.ts'
import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { coalesceBorrowed } from '../../lib/coalesce.ts'
import { CODINGS, type Coding, FILE_ENDINGS } from '../../lib/coding.ts'
import { preferredCoding } from '../../lib/weighted-list.ts'
import { writeBorrowed } from '../../lib/write-borrowed.ts'
import { type Caller, findCallerAgain, tokenIdOf } from '../../projects/access.ts'
import { assertMayMove } from '../../projects/assert-permission.ts'
import { estimateRows } from '../../transfer/export/estimate-rows.ts'
import { findSelection } from '../../transfer/export/export-selection.ts'
import type { NotInArchive } from '../../transfer/export/open-export.ts'
import { withExport } from '../../transfer/export/with-export.ts'
import { json, stream } from '../answer.ts'
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
    'nevertheless, or `Accept-Encoding: gzip`, asks for a compressed one; `zstd` in its place for one that is compressed ' +
    'with that, where the server’s Node.js has it. An export that fails after its first ' +
    'byte ends the connection abnormally, and its archive lacks the `end` line. Needs `content.export` in every ' +
    'project, and `system.export` where the system section is asked for. Where rows would be missing that no archive can ' +
    'hold, it is refused (`INCOMPLETE`) before the first byte, unless `allowIncomplete` is true. With `Prefer: respond-async` it is a job, and its ' +
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
      'content-encoding': '`gzip` or `zstd` where the archive is compressed.',
      'content-disposition': 'A name for the file.',
      'wharf-rows-estimate': "How many rows to expect, by PostgreSQL's own estimate; missing where there is none.",
    }),
    202: accepted,
  },
  errors: [
    'CONFLICT',
    'INCOMPLETE',
    'ATTACHED_FAILED',
    'DATABASE_UNAVAILABLE',
    'QUEUE_UNAVAILABLE',
    'IDEMPOTENCY_KEY_REUSED',
  ],
})

const examineExport = route('POST /export/dry-run', {
  operationId: 'examineExport',
  summary: 'Says what an archive of projects would lack',
  description: 'Looks at the projects as an export does, and reads no rows. Needs what the export needs.',
  canWaitLong: true,
  access: { by: 'request', permissions: ['content.export'], system: ['system.export'] },
  body: jsonBody(exportDryRunRequest),
  answers: {
    200: json(
      exportDryRunSchema,
      'What it would lack, since no archive can hold it, or since `grants` was not asked for.',
    ),
  },
  errors: ['CONFLICT', 'ATTACHED_FAILED', 'DATABASE_UNAVAILABLE'],
})

/** `/export` */
export function exportRoutes(container: Container): readonly BoundRoute<Caller>[] {
  return [
    exportProjects.handle<Caller>(async ({ body, headers, caller, signal }) => {
      const { projects, allowIncomplete, jobs, maxBytesPerSecond, compression } = body
      assertMayExport(caller, projects)
      assertCanCompress(compression)
      if (parsePrefer(headers.prefer).respondAsync) {
        for (const selection of projects) await findSelection(container.control.prisma, selection)
        const newJob = {
          request: { kind: 'export', request: body },
          createdBy: tokenIdOf(caller),
          idempotency: idempotencyOf(headers, () => hashOf(body)),
        } as const
        return acceptJob(container, newJob, { isPreferred: true })
      }
      const coding = compression ?? wantedCoding(headers)
      const estimate = await estimateRows(container, projects)
      const assertStill = async (): Promise<void> =>
        assertMayExport(await findCallerAgain(container.control.prisma, caller), projects)
      return {
        status: 200,
        headers: {
          'content-encoding': coding,
          'content-disposition': `attachment; filename="${fileName(projects, coding)}"`,
          'wharf-rows-estimate': estimate > 0 ? String(estimate) : undefined,
        },
        body: (sink) =>
          withExport(
            container,
            projects,
            (archive) => {
              const { authorisationMs } = container.jobTimings
              const bytes = coding ? compressArchive(archive, { coding }) : coalesceBorrowed(archive)
              const answer = whileAuthorised(bytes, assertStill, authorisationMs)
              return pipeline(answer, (chunks: AsyncIterable<BorrowedBytes>) => writeBorrowed(chunks, sink), { signal })
            },
            { signal, allowIncomplete, ...(jobs && { jobs }), ...(maxBytesPerSecond && { maxBytesPerSecond }) },
          ),
      }
    }),
    examineExport.handle<Caller>(async ({ body: { projects }, caller, signal }) => {
      assertMayExport(caller, projects)
      const look = async (_archive: unknown, notExported: readonly NotInArchive[]) => [...notExported]
      const notExported = await withExport(container, projects, look, { signal, allowIncomplete: true, jobs: 1 })
      return { status: 200, body: { complete: notExported.length === 0, notExported } }
    }),
  ]
}

/** As before other fields than `projects` were known, where they say nothing: a key stands for the same request. */
const hashOf = ({
  projects,
  allowIncomplete,
  jobs,
  maxBytesPerSecond,
  compression,
}: z.output<typeof exportRequest>): Buffer =>
  requestHash(
    projects,
    ...(allowIncomplete ? ['incomplete'] : []),
    ...(jobs === undefined ? [] : [jobs]),
    ...(maxBytesPerSecond === undefined ? [] : [{ maxBytesPerSecond }]),
    ...(compression === undefined ? [] : [compression]),
  )

function assertMayExport(caller: Caller, projects: readonly ExportSelection[]): void {
  for (const { slug, system } of projects) assertMayMove(caller, 'export', slug, system)
}

/** The interface document asks for a coding by the request's Content-Encoding; HTTP by Accept-Encoding. Either will do. */
function wantedCoding(headers: {
  readonly 'content-encoding'?: string | undefined
  readonly 'accept-encoding'?: string | undefined
}): Coding | undefined {
  const asked = headers['content-encoding']?.trim().toLowerCase()
  if (asked !== 'gzip' && asked !== 'zstd') return preferredCoding(headers['accept-encoding'], CODINGS)
  assertCanCompress(asked)
  return asked
}

function fileName(projects: readonly ExportSelection[], coding: Coding | undefined): string {
  const [first, ...others] = projects
  const name = first && others.length === 0 ? first.slug : 'projects'
  return `${name}.jsonl${coding ? FILE_ENDINGS[coding] : ''}`
}
