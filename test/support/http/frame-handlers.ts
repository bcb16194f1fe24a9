import { readPage } from '../../../src/api/paging.ts'
import type { BoundRoute } from '../../../src/api/route.ts'
import { AppError, forbidden, notFound } from '../../../src/errors.ts'
import {
  applySql,
  type Caller,
  createThings,
  download,
  fail,
  getNewestThing,
  getThing,
  listThings,
  SECRET,
  upload,
  wait,
} from './frame-routes.ts'

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
