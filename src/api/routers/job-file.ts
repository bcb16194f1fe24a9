import { z } from 'zod'
import type { Container } from '../../container.ts'
import { id } from '../../contract/fields.ts'
import { projectsOf } from '../../jobs/authorisation.ts'
import { type AnyJobRequest, parseRequest } from '../../jobs/catalogue.ts'
import { findOutput, type JobOutput } from '../../jobs/job-output.ts'
import { assertMayTakeResult, findJob } from '../../jobs/read-jobs.ts'
import { linkOutput, readOutput } from '../../jobs/read-output.ts'
import { type Coding, FILE_ENDINGS, MEDIA_TYPES } from '../../lib/coding.ts'
import { type Caller, findCallerAgain } from '../../projects/access.ts'
import { empty, stream } from '../answer.ts'
import { isKnown, isSameVersion, parseByteRange } from '../byte-range.ts'
import { parsePrefer } from '../prefer.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { whileAuthorised } from '../while-authorised.ts'

const route = routesUnder('Jobs')

const ARCHIVE_TYPES = [MEDIA_TYPES.gzip, MEDIA_TYPES.zstd] as const

const fileHeaders = {
  'accept-ranges': 'Always `bytes`.',
  'content-length': 'How many bytes follow.',
  'content-disposition': 'A name for the file.',
  etag: 'The SHA-256 of the archive, in hexadecimal digits: for `If-Range` and `If-None-Match`.',
  'repr-digest': 'The SHA-256 of the whole archive, also where a part of it is sent (RFC 9530).',
  'cache-control': 'Always `private, no-cache`: it may be cached, but each request is authorised.',
} as const

const downloadJobFile = route('GET /jobs/{id}/file', {
  operationId: 'downloadJobFile',
  summary: 'Downloads the archive that an export has made',
  description:
    'A download that broke off goes on where it stopped: `Range: bytes=<bytes received>-`, with the `ETag` as ' +
    '`If-Range` (`curl -C -` does so). One range at a time. Needs, at this moment, what the export needed: ' +
    '`content.export` in every project, and `system.export` where the system section is in the archive. An archive whose ' +
    'bytes in the storage have changed is a 410, or, where that is seen only while it is being sent, ends the connection ' +
    'before its last byte. Where the operator has clients read the storage itself, the answer is a redirect to it: follow ' +
    'it with the same `Range`, and without the token; `Prefer: no-redirect` has the bytes come from this server.',
  access: { by: 'asker', of: 'job' },
  params: z.object({ id }),
  headers: z.object({
    range: z.string().optional(),
    'if-range': z.string().optional(),
    'if-none-match': z.string().optional(),
    prefer: z.string().optional(),
  }),
  answers: {
    200: stream(ARCHIVE_TYPES, 'The archive.', fileHeaders),
    206: stream(ARCHIVE_TYPES, 'The part of the archive that was asked for.', {
      ...fileHeaders,
      'content-range': 'Which bytes these are, and how many there are.',
    }),
    307: empty(
      'The archive is there: a URL of its storage, which is a secret, and begins to answer within five minutes.',
      {
        location: 'Where to read the archive, or the range of it.',
        etag: fileHeaders.etag,
        'repr-digest': fileHeaders['repr-digest'],
        'cache-control': 'Always `no-store`.',
      },
    ),
    304: empty('The client has the archive already.', {
      etag: fileHeaders.etag,
      'cache-control': fileHeaders['cache-control'],
    }),
  },
  errors: ['FORBIDDEN', 'CONFLICT', 'GONE', 'RANGE_NOT_SATISFIABLE', 'STORAGE_UNAVAILABLE'],
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
      // A range is for GET alone; HEAD describes the whole (RFC 9110, section 14.2).
      const mayBePart = request.method === 'GET' && isSameVersion(headers['if-range'], etag)
      const range = mayBePart ? parseByteRange(headers.range, output.bytes) : undefined
      const part = range ?? { start: 0, end: output.bytes }
      const asked = parseRequest(job.kind, job.request)
      const coding = (asked.kind === 'export' && asked.request.compression) || 'gzip'
      const mediaType = MEDIA_TYPES[coding]
      const disposition = `attachment; filename="${fileName(asked, coding, output)}"`
      const digest = `sha-256=:${Buffer.from(output.sha256).toString('base64')}:`
      // The store would give a part of what is there to who asks for a part of something else.
      const mayRedirect = mayBePart && !parsePrefer(headers.prefer).noRedirect
      const location = mayRedirect ? await linkOutput(container, output, { disposition, mediaType }) : undefined
      if (location !== undefined) {
        return { status: 307, headers: { location, etag, 'repr-digest': digest, 'cache-control': 'no-store' } }
      }
      const described = {
        'accept-ranges': 'bytes',
        'content-length': String(part.end - part.start),
        'content-disposition': disposition,
        etag,
        'repr-digest': digest,
        'cache-control': cacheControl,
      }
      const assertStill = async (): Promise<void> =>
        assertMayTakeResult(control, await findCallerAgain(control.prisma, caller), job)
      const bytes = readOutput(container, output, part)
      const body = whileAuthorised(bytes, assertStill, container.jobTimings.authorisationMs)
      if (!range) return { status: 200, headers: described, body, mediaType }
      const contentRange = `bytes ${range.start}-${range.end - 1}/${output.bytes}`
      return { status: 206, headers: { ...described, 'content-range': contentRange }, body, mediaType }
    }),
  ]
}

/** The project, or `projects`, and the day: `shop-2026-11-21.jsonl.gz`, or `.zst`. */
function fileName(request: AnyJobRequest, coding: Coding, { createdAt }: JobOutput): string {
  const [first, ...others] = projectsOf(request)
  const name = first !== undefined && others.length === 0 ? first : 'projects'
  return `${name}-${createdAt.toISOString().slice(0, 10)}.jsonl${FILE_ENDINGS[coding]}`
}
