import { spawnSync } from 'node:child_process'
import { chown, mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { withTemporaryFolder } from '../../src/cli/temporary-folder.ts'
import { temporaryFolder } from '../support/processes/processes.ts'

let parent: string

beforeEach(async () => {
  parent = await temporaryFolder()
  vi.stubEnv('TMPDIR', parent)
  return () => vi.unstubAllEnvs()
})

const names = async (): Promise<readonly string[]> => (await readdir(parent)).toSorted()

/** Makes a folder with a file in it, called as one of the process with this number. */
async function makeFolderOf(pid: number): Promise<string> {
  const own = await withTemporaryFolder('a test', (folder) => Promise.resolve(basename(folder)))
  const name = own.replace(`-${process.pid}-`, `-${pid}-`)
  await mkdir(join(parent, name))
  await writeFile(join(parent, name, 'some.rows'), 'rows')
  return name
}

const endedPid = (): number => spawnSync('true').pid

test('a temporary folder is there as long as it is used, and goes whatever becomes of that', async () => {
  const failing = withTemporaryFolder('a test', async (folder) => {
    await writeFile(join(folder, 'some.rows'), 'rows')
    expect(await names()).toEqual([basename(folder)])
    throw new Error('given up')
  })
  await expect(failing).rejects.toThrow('given up')
  expect(await names()).toEqual([])
})

test('what a process has left that is gone is removed, and what one has that lives is not', async () => {
  const living = await makeFolderOf(process.ppid)
  await makeFolderOf(endedPid())
  await withTemporaryFolder('a test', async (folder) => {
    expect(await names()).toEqual([basename(folder), living].toSorted())
  })
})

test('folders that are called otherwise stay', async () => {
  const other = (await makeFolderOf(process.ppid)).replace(/-\d+-\w+$/, '-notes')
  await mkdir(join(parent, other))
  await withTemporaryFolder('a test', async () => expect(await names()).toContain(other))
})

test.runIf(process.getuid?.() === 0)('what another user has made stays, also for root', async () => {
  const foreign = await makeFolderOf(endedPid())
  await chown(join(parent, foreign), 65_534, 65_534)
  await withTemporaryFolder('a test', async () => expect(await names()).toContain(foreign))
})
