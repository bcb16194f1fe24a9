import { existsSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeDataFolder } from '../../src/data-folder/make-data-folder.ts'
import { temporaryFolder } from '../support/processes/processes.ts'

test('makes the folder and those above it, so that others can pass through', async () => {
  const folder = join(await temporaryFolder(), 'a', 'b')
  await makeDataFolder(folder)
  expect((await stat(folder)).mode & 0o777).toBe(0o755)
})

test('leaves a folder that is there as it is', async () => {
  const folder = await temporaryFolder()
  const before = await stat(folder)
  await makeDataFolder(folder)
  expect((await stat(folder)).mode).toBe(before.mode)
})

test('says so where a file stands in its place', async () => {
  const path = join(await temporaryFolder(), 'file')
  await writeFile(path, '')
  await expect(makeDataFolder(path)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

// mkdir with `recursive` never comes back from such a place.
const impossible = ['/proc/nothing-can-be-made-here'].filter(() => existsSync('/proc/self'))

test.each(impossible)('gives up where nothing can be made: %s', async (path) => {
  await expect(makeDataFolder(path)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})
