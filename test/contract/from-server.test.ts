import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { added, fromServer } from '../../src/contract/from-server.ts'

const thing = z.strictObject({
  id: z.guid(),
  state: z.enum(['begun', 'ended']),
  at: z.iso.datetime().nullable(),
  counts: z.array(z.int().max(10)),
  note: z.string().max(3).exactOptional(),
  of: z.union([z.strictObject({ project: z.string() }), z.strictObject({ dsn: z.string() })]),
  undoable: added(z.boolean(), true),
  anything: z.unknown(),
})

const sent = {
  id: '0f8b8a52-2f1f-4d0e-9c5b-0f6d7c1c2a11',
  state: 'begun',
  at: null,
  counts: [1],
  of: { project: 'shop' },
  undoable: false,
  anything: { a: 1 },
}

const read = (changes: object) => fromServer(thing).parse({ ...sent, ...changes })

test('an answer is read as it was sent', () => {
  expect(read({})).toEqual(sent)
})

describe('of a newer server', () => {
  test('fields that are not known are left out', () => {
    expect(read({ more: 1, of: { project: 'shop', more: 2 } })).toEqual(sent)
  })

  test.each([{ state: 'paused' }, { id: '01JD' }, { at: 'tomorrow' }, { counts: [11] }, { note: 'longer' }])(
    '%o is taken',
    (changes) => {
      expect(read(changes)).toEqual({ ...sent, ...changes })
    },
  )
})

test('a field that came later counts as its default where an older server does not send it', () => {
  expect(read({ undoable: undefined })).toEqual({ ...sent, undoable: true })
})

test.each([{ id: 1 }, { state: null }, { counts: ['1'] }, { counts: undefined }, { of: {} }, { undoable: 'no' }])(
  'what no server sends is refused: %o',
  (changes) => {
    expect(fromServer(thing).safeParse({ ...sent, ...changes }).success).toBe(false)
  },
)
