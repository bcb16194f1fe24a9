import { expect, test } from 'vitest'
import { STRUCTURE_LIMITS } from '../../../src/archive/structure-limit.ts'
import { createReadableWriter } from '../../../src/transfer/export/readable-writer.ts'

const begin = (limits: Partial<typeof STRUCTURE_LIMITS>) => {
  const writer = createReadableWriter({ ...STRUCTURE_LIMITS, ...limits })
  const moment = '2026-01-01T00:00:00.000Z'
  writer.open('archive', { version: 2, createdAt: moment, snapshotAt: moment, generator: 'wharf/1' })
  return (slug: string): void => {
    writer.open('project', { slug, system: false })
    writer.open('stage', { slug: 'live', complete: true })
    writer.close('stageEnd')
    writer.close('projectEnd')
  }
}

test.each([
  ['lines', { lines: 4 }, /"project" is one more than the 4 lines/],
  ['projects', { projects: 2 }, /"project" is one more than the 2 projects/],
  ['bytes', { bytes: 200 }, /more than the 200 bytes.*export fewer projects, or stages, at a time/],
  ['values', { values: 30 }, /more than the 30 values/],
])('no more %s are written than are read', (_what, limits, message) => {
  const project = begin(limits)
  project('a')
  project('b')
  expect(() => project('c')).toThrow(message)
})
