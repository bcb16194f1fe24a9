import { expect, test } from 'vitest'
import { missingStages, planArchives, type RecoveringProject } from '../../src/recovery/plan-archives.ts'
import type { ProvenArchive } from '../../src/recovery/proven-archives.ts'

/** @param day on which it was made, which is its name, too. @param stages all where they are left out. */
const archive = (day: number, stages?: readonly string[]): ProvenArchive => ({
  ...{ artifactId: `${day}`, jobId: `${day}`, key: '', sha256: '', projectIds: [] },
  madeAt: new Date(Date.UTC(2026, 0, day)),
  projects: new Map([['shop', stages]]),
})

const plan = (project: Partial<RecoveringProject>): readonly string[] =>
  planArchives({
    ...{ id: '', slug: 'shop', stages: ['live', 'draft'], archives: [], outcome: { archives: [] }, failed: new Map() },
    ...project,
  }).map(({ artifactId }) => artifactId)

const imported = (day: number, stages: string[]) => ({
  archives: [{ artifactId: `${day}`, jobId: `${day}`, madeAt: archive(day).madeAt.toISOString(), stages }],
})

test('the newest archive with all stages is enough', () => {
  expect(plan({ archives: [archive(3), archive(2)] })).toEqual(['3'])
})

test('a stage comes from the newest archive that has it, after those with older stages', () => {
  expect(plan({ archives: [archive(3, ['live']), archive(2), archive(1)] })).toEqual(['2', '3'])
})

test('an archive that could not be imported is passed over for the one before it', () => {
  expect(plan({ archives: [archive(3), archive(2)], failed: new Map([['3', 'gone']]) })).toEqual(['2'])
})

test('what was imported is not imported again', () => {
  expect(plan({ archives: [archive(3)], outcome: imported(3, ['live', 'draft']) })).toEqual([])
})

test('an older archive never replaces a stage that a newer one has brought back', () => {
  const outcome = imported(3, ['live'])
  expect(plan({ archives: [archive(3), archive(2)], outcome })).toEqual([])
  expect(plan({ archives: [archive(3), archive(2, ['draft'])], outcome })).toEqual(['2'])
})

test('stages that no archive has brought back are missing', () => {
  expect(missingStages({ stages: ['live', 'draft'], outcome: imported(3, ['live']) })).toEqual(['draft'])
})
