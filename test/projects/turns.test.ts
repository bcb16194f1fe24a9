import { expect, test } from 'vitest'
import { createTurns, type Turns } from '../../src/projects/turns.ts'

const turnsOf = (waitMs = 0): Turns => createTurns({ what: 'exports', perProject: 4, room: 16, waitMs })

/** Takes turns and keeps them. @returns for each ask, what gives its turn back, or the code of its refusal. */
const keep = (turns: Turns, project: string, count: number): Promise<((() => void) | string)[]> =>
  Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<(() => void) | string>((resolve) => {
          turns
            .take([project], () => new Promise<void>((end) => resolve(end)))
            .catch((error: { readonly code: string }) => resolve(error.code))
        }),
    ),
  )

const codesOf = (outcomes: readonly unknown[]): readonly unknown[] =>
  outcomes.filter((outcome) => typeof outcome === 'string')

test('a project has so many turns and no more', async () => {
  expect(codesOf(await keep(turnsOf(), 'one', 6))).toEqual(['PROJECT_BUSY', 'PROJECT_BUSY'])
})

test('half of the room is for projects that have nothing under way', async () => {
  const turns = turnsOf()
  for (const project of ['a', 'b']) expect(codesOf(await keep(turns, project, 4))).toEqual([])
  for (const project of ['c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']) {
    expect(codesOf(await keep(turns, project, 2)), project).toEqual(['PROJECT_BUSY'])
  }
  expect(await keep(turns, 'k', 1)).toEqual(['DATABASE_UNAVAILABLE'])
})

test('who waits goes when a turn is given back, past those who may not go yet', async () => {
  const turns = turnsOf(600_000)
  const [first] = await keep(turns, 'a', 4)
  const fifth = turns.take(['a', 'b'], async () => 'went')
  const other = turns.take(['b'], async () => 'went')
  expect(await other).toBe('went')
  if (typeof first === 'function') first()
  expect(await fifth).toBe('went')
})

test('a turn is given back where its use throws', async () => {
  const turns = createTurns({ what: 'exports', perProject: 1, room: 1, waitMs: 0 })
  const failing = turns.take(['a'], () => Promise.reject(new Error('it failed')))
  await expect(failing).rejects.toThrow('it failed')
  expect(await turns.take(['a'], async () => 'went')).toBe('went')
})

test('what is for many projects takes one place of the room', async () => {
  const turns = createTurns({ what: 'exports', perProject: 1, room: 1, waitMs: 0 })
  expect(await turns.take(['a', 'b', 'c', 'a'], async () => 'went')).toBe('went')
})
