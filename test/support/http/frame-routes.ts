import { z } from 'zod'
import { bytes, empty, json, stream } from '../../../src/api/answer.ts'
import { jsonBody, rawBody, streamBody } from '../../../src/api/body.ts'
import { pageQuery, readPage } from '../../../src/api/paging.ts'
import { queryFlag } from '../../../src/api/query.ts'
import { type BoundRoute, defineRoute } from '../../../src/api/route.ts'
import { pageOf } from '../../../src/contract/page.ts'
import { AppError, forbidden, notFound } from '../../../src/errors.ts'

export const TOKEN = 'harbour-token-0123456789'
export const SECRET = 'SELECT secret FROM inner.host.example'

export interface Caller {
  readonly id: string
}

const slug = z.string().regex(/^[a-z][a-z0-9-]*$/, { error: 'must be a slug' })
const thing = z.object({ slug, size: z.int() }).meta({ id: 'Thing' })

const listThings = defineRoute({
  method: 'GET',
  path: '/things',
  operationId: 'listThings',
  summary: 'Lists things.',
  tag: 'things',
  access: { by: 'token' },
  query: z.object({ ...pageQuery, big: queryFlag() }),
  answers: { 200: json(pageOf(thing), 'A page of things.') },
})

const getThing = defineRoute({
  method: 'GET',
  path: '/things/{slug}',
  operationId: 'getThing',
  summary: 'Finds a thing.',
  tag: 'things',
  access: { by: 'token' },
  params: z.object({ slug }),
  headers: z.object({ 'x-known': z.string().optional() }),
  answers: {
    200: json(thing, 'The thing.', { 'x-reference': 'Its current reference.' }),
    304: empty('It has not changed.', { 'x-reference': 'Its current reference.' }),
  },
  errors: ['NOT_FOUND', 'FORBIDDEN'],
})

const getNewestThing = defineRoute({
  method: 'GET',
  path: '/things/newest',
  operationId: 'getNewestThing',
  summary: 'Finds the newest thing.',
  tag: 'things',
  access: { by: 'token' },
  answers: { 200: bytes('application/json', 'The thing, serialised already.', {}, thing) },
})

export const createThings = defineRoute({
  method: 'POST',
  path: '/things',
  operationId: 'createThings',
  summary: 'Makes things.',
  tag: 'things',
  access: { by: 'token' },
  body: jsonBody(z.strictObject({ things: z.array(z.strictObject({ slug, size: z.int() })).max(1000) })),
  answers: { 201: json(z.object({ made: z.int() }), 'How many were made.') },
})

const applySql = defineRoute({
  method: 'PUT',
  path: '/sql',
  operationId: 'applySql',
  summary: 'Takes SQL.',
  tag: 'things',
  access: { by: 'token' },
  body: rawBody('application/sql', { maxBytes: 100, description: 'SQL.' }),
  answers: { 200: json(z.object({ length: z.int() }), 'Its length.') },
})

const upload = defineRoute({
  method: 'POST',
  path: '/uploads',
  operationId: 'upload',
  summary: 'Counts what is uploaded.',
  tag: 'streams',
  access: { by: 'token' },
  query: z.object({ refuseAfter: z.string().optional() }),
  body: streamBody('application/x-ndjson', 'Lines.'),
  answers: { 200: json(z.object({ coding: z.string(), size: z.int() }), 'What came.') },
  errors: ['ARCHIVE_INVALID'],
})

const download = defineRoute({
  method: 'GET',
  path: '/downloads/{kind}',
  operationId: 'download',
  summary: 'Streams lines.',
  tag: 'streams',
  access: { by: 'token' },
  params: z.object({ kind: z.enum(['whole', 'written', 'empty', 'fails-first', 'fails-later', 'endless']) }),
  answers: { 200: stream('application/x-ndjson', 'Lines.', { 'content-disposition': 'A file name.' }) },
  errors: ['EXPORT_INTERRUPTED'],
})

export const wait = defineRoute({
  method: 'POST',
  path: '/waits',
  operationId: 'wait',
  summary: 'Waits until it is let go or aborted.',
  tag: 'streams',
  access: { by: 'anyone' },
  answers: { 204: empty('It was let go.') },
})

export const fail = defineRoute({
  method: 'GET',
  path: '/failures/{kind}',
  operationId: 'fail',
  summary: 'Fails.',
  tag: 'failures',
  access: { by: 'anyone' },
  params: z.object({ kind: z.string() }),
  answers: { 200: json(z.object({ status: z.literal('ok') }), 'It did not fail.') },
  errors: ['DATABASE_UNAVAILABLE', 'CONFLICT'],
})

async function* linesThat(kind: string): AsyncGenerator<Buffer> {
  if (kind === 'fails-first') throw new AppError('EXPORT_INTERRUPTED', 'the export was interrupted')
  if (kind === 'empty') return
  yield Buffer.from('{"line":1}\n')
  if (kind === 'fails-later') throw new AppError('EXPORT_INTERRUPTED', 'the export was interrupted')
  const block = Buffer.alloc(256 * 1024, 'x')
  while (kind === 'endless') yield block
  yield Buffer.from('{"line":2}\n')
}

/** What the routes of this test tell the test about the requests that they are answering. */
export interface Probe {
  onWait: (signal: AbortSignal) => Promise<void>
  started: number
  /** How many tokens were looked up. */
  lookUps: number
}

function failAs(kind: string): never {
  if (kind === 'database') throw new AppError('DATABASE_UNAVAILABLE', SECRET, { retryAfterSeconds: 7 })
  if (kind === 'conflict') {
    throw new AppError('CONFLICT', 'they differ', { faults: [{ line: 3, detail: 'this' }, { detail: 'and that' }] })
  }
  if (kind === 'undeclared-status') throw forbidden('this route does not say that it can forbid')
  if (kind === 'undeclared-code') throw new AppError('EXPORT_INTERRUPTED', 'nor that it exports')
  throw new Error(SECRET)
}

export function testRoutes(probe: Probe): BoundRoute<Caller>[] {
  const things = ['anchor', 'buoy', 'crane'].map((name, size) => ({ slug: name, size }))
  return [
    listThings.handle(async ({ query: { limit, after = '', big } }) => {
      const found = things.filter((each) => each.slug > after && (!big || each.size > 0))
      return {
        status: 200,
        body: await readPage(
          { limit },
          async (most) => found.slice(0, most),
          ({ slug }) => slug,
        ),
      }
    }),
    getThing.handle(({ params, headers, caller, log }) => {
      probe.started += 1
      log.info('looking')
      if (params.slug === 'locked') throw forbidden(`${caller.id} lacks the permission to look`)
      const found = things.find((each) => each.slug === params.slug)
      if (!found) throw notFound('thing', params.slug)
      if (headers['x-known'] === 'r1') return { status: 304, headers: { 'x-reference': 'r1' } }
      return { status: 200, headers: { 'x-reference': 'r1' }, body: { ...found, inner: SECRET } }
    }),
    getNewestThing.handle(() => ({ status: 200, body: Buffer.from('{"slug":"crane","size":2}') })),
    createThings.handle(({ body }) => {
      probe.started += 1
      return { status: 201, body: { made: body.things.length } }
    }),
    applySql.handle(({ body }) => ({ status: 200, body: { length: body.length } })),
    upload.handle(async ({ body, query }) => {
      probe.started += 1
      let size = 0
      for await (const chunk of body.bytes) {
        size += chunk.length
        if (query.refuseAfter !== undefined && size > Number(query.refuseAfter)) {
          throw new AppError('ARCHIVE_INVALID', 'the archive is invalid', { faults: [{ line: 3, detail: 'is odd' }] })
        }
      }
      return { status: 200, body: { coding: body.coding, size } }
    }),
    download.handle(({ params: { kind } }) => ({
      status: 200,
      headers: { 'content-disposition': 'attachment' },
      body:
        kind === 'written'
          ? async (sink) => {
              sink.write('{"line":1}\n')
              sink.write('{"line":2}\n')
            }
          : linesThat(kind),
    })),
    wait.handle(async ({ signal }) => {
      probe.started += 1
      await probe.onWait(signal)
      return { status: 204 }
    }),
    fail.handle(({ params }) => failAs(params.kind)),
  ]
}
