import { z } from 'zod'
import { bytes, empty, json, stream } from '../../../src/api/answer.ts'
import { jsonBody, rawBody, streamBody } from '../../../src/api/body.ts'
import { pageQuery } from '../../../src/api/paging.ts'
import { queryFlag } from '../../../src/api/query.ts'
import { defineRoute } from '../../../src/api/route.ts'
import { pageOf } from '../../../src/contract/page.ts'

export const TOKEN = 'harbour-token-0123456789'
export const SECRET = 'SELECT secret FROM inner.host.example'

export interface Caller {
  readonly id: string
}

const slug = z.string().regex(/^[a-z][a-z0-9-]*$/, { error: 'must be a slug' })
const thing = z.object({ slug, size: z.int() }).meta({ id: 'Thing' })

export const listThings = defineRoute({
  method: 'GET',
  path: '/things',
  operationId: 'listThings',
  summary: 'Lists things.',
  tag: 'things',
  access: { by: 'token' },
  query: z.object({ ...pageQuery, big: queryFlag() }),
  answers: { 200: json(pageOf(thing), 'A page of things.') },
})

export const getThing = defineRoute({
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

export const getNewestThing = defineRoute({
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

export const applySql = defineRoute({
  method: 'PUT',
  path: '/sql',
  operationId: 'applySql',
  summary: 'Takes SQL.',
  tag: 'things',
  access: { by: 'token' },
  body: rawBody('application/sql', { maxBytes: 100, description: 'SQL.' }),
  answers: { 200: json(z.object({ length: z.int() }), 'Its length.') },
})

export const upload = defineRoute({
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

export const download = defineRoute({
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
