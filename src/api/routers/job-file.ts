import { z } from 'zod'
import type { ByteRange } from '../../artifacts/artifact-store.ts'
import type { Container } from '../../container.ts'
import { gone, isAppError } from '../../errors.ts'
import { projectsOf } from '../../jobs/authorisation.ts'
import { parseRequest } from '../../jobs/catalogue.ts'
import type { Job } from '../../jobs/job.ts'
import { findOutput, type JobOutput } from '../../jobs/job-output.ts'
import { assertMayTakeResult, findJob } from '../../jobs/read-jobs.ts'
import { collectPassed } from '../../lib/collect-passed.ts'
import type { Caller } from '../../projects/access.ts'
import { empty, stream } from '../answer.ts'
import { isKnown, isSameVersion, parseByteRange } from '../byte-range.ts'
import { type BoundRoute, defineRoute } from '../route.ts'
import { id } from './schemas.ts'

const fileHeaders = {
  'accept-ranges': 'Always `bytes`.',
  'content-length': 'How many bytes follow.',
  'content-disposition': 'A name for the file.',
  etag: 'The SHA-256 of the archive, in hexadecimal digits: for `If-Range` and `If-None-Match`.',
  'repr-digest': 'The SHA-256 of the whole archive, also where a part of it is sent (RFC 9530).',
  'cache-control': 'Always `private, no-cache`: it may be kept, but who asks for it is checked each time.',
} as const

const downloadJobFile = defineRoute({
  method: 'GET',
  path: '/jobs/{id}/file',
  operationId: 'downloadJobFile',
  summary: 'Downloads the archive that an export has made',
  description:
    'A download that broke off goes on where it stopped: `Range: bytes=<bytes received>-`, with the `ETag` as ' +
    '`If-Range` (`curl -C -` does so). One range at a time. Needs, at this moment, what the export needed: ' +
    '`content.export` in every project, and `system.export` where the system section is in the archive.',
  tag: 'Jobs',
  auth: 'token',
  params: z.object({ id }),
  headers: z.object({
    range: z.string().optional(),
    'if-range': z.string().optional(),
    'if-none-match': z.string().optional(),
  }),
  answers: {
    200: stream('application/gzip', 'The archive.', fileHeaders),
    206: stream('application/gzip', 'The part of the archive that was asked for.', {
      ...fileHeaders,
      'content-range': 'Which bytes these are, and how many there are.',
    }),
    304: empty('The client has the archive already.', {
      etag: fileHeaders.etag,
      'cache-control': fileHeaders['cache-control'],
    }),
  },
  errors: ['FORBIDDEN', 'NOT_FOUND', 'CONFLICT', 'GONE', 'RANGE_NOT_SATISFIABLE', 'STORAGE_UNAVAILABLE'],
})

/** `/jobs/{id}/file` */
export function jobFileRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { control } = container
  return [
    downloadJobFile.handle<Caller>(async ({ params, headers, caller, request }) => {
      const job = await findJob(control, caller, params.id)
      await assertMayTakeResult(control, caller, job)
      const output = await findOutput(control.prisma, job)
      const etag = `"${Buffer.from(output.sha256).toString('hex')}"`
      const cacheControl = 'private, no-cache'
      if (isKnown(headers['if-none-match'], etag)) {
        return { status: 304, headers: { etag, 'cache-control': cacheControl } }
      }
      // A range is for GET alone; HEAD tells of the whole (RFC 9110, section 14.2).
      const mayBePart = request.method === 'GET' && isSameVersion(headers['if-range'], etag)
      const range = mayBePart ? parseByteRange(headers.range, output.bytes) : undefined
      const part = range ?? { start: 0, end: output.bytes }
      const described = {
        'accept-ranges': 'bytes',
        'content-length': String(part.end - part.start),
        'content-disposition': `attachment; filename="${fileName(job, output)}"`,
        etag,
        'repr-digest': `sha-256=:${Buffer.from(output.sha256).toString('base64')}:`,
        'cache-control': cacheControl,
      }
      const body = readPart(container, output, part)
      if (!range) return { status: 200, headers: described, body }
      const contentRange = `bytes ${range.start}-${range.end - 1}/${output.bytes}`
      return { status: 206, headers: { ...described, 'content-range': contentRange }, body }
    }),
  ]
}

/** Exactly these bytes, or an error: a length that was promised must not end early and look like all there is. */
async function* readPart({ artifacts }: Container, { key }: JobOutput, part: ByteRange): AsyncGenerator<Buffer> {
  let missing = part.end - part.start
  try {
    for await (const chunk of collectPassed(artifacts.read(key, part))) {
      missing -= chunk.length
      yield chunk
    }
  } catch (error) {
    throw isAppError(error, 'NOT_FOUND') ? gone('the archive is not kept any more; export again') : error
  }
  if (missing !== 0)
    throw new Error(`the store has another length of an archive than its record: ${missing} bytes less`)
}

/** The project, or `projects`, and the day: `shop-2026-11-21.jsonl.gz`. */
function fileName(job: Job, { createdAt }: JobOutput): string {
  const [first, ...others] = projectsOf(parseRequest(job.kind, job.request))
  const name = first !== undefined && others.length === 0 ? first : 'projects'
  return `${name}-${createdAt.toISOString().slice(0, 10)}.jsonl.gz`
}
