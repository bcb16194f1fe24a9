import { expect, test } from 'vitest'
import { searchStage, stagePath } from '../../src/projects/stage-path.ts'

test('a stage is searched before extensions, whatever its schema is called', () => {
  expect(stagePath('shop.live')).toBe('"shop.live", "extensions"')
  expect(searchStage('a"; b')).toBe('SET LOCAL search_path = "a""; b", "extensions"')
})
