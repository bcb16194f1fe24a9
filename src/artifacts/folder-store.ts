import * as nodeFiles from 'node:fs/promises'
import { join } from 'node:path'
import { notFound } from '../errors.ts'
import { syncFolder } from '../lib/atomic-file.ts'
import type { ByteRange } from '../lib/byte-range.ts'
import { errorCode } from '../lib/error-code.ts'
import { unlessMissing } from '../lib/unless-missing.ts'
import { type ArtifactStore, assertArtifactKey, isArtifactKey, type Leftovers } from './artifact-store.ts'
import { type ArtifactTarget, createArtifactWriter } from './artifact-writer.ts'
import { storageFault, translateErrors } from './storage-fault.ts'

/** The calls of the file system that a folder of artifacts needs; `node:fs/promises` has them. */
export type FileCalls = Pick<typeof nodeFiles, 'mkdir' | 'open' | 'readdir' | 'rename' | 'rm' | 'stat'>

const READ_BYTES = 256 * 1024
/** An unfinished artifact is `<key>.part` beside the finished ones, so that it takes its name by a rename. */
const unfinished = (path: string): string => `${path}.part`
const keyOf = (name: string): string => name.slice(0, -'.part'.length)
const isUnfinished = (name: string): boolean => name.endsWith('.part') && isArtifactKey(keyOf(name))

/**
 * Keeps artifacts as files of a folder, which several processes, and machines, may share. It is made where it is
 * missing; nobody but its owner may look into it, or into the files.
 *
 * @throws {AppError} STORAGE_UNAVAILABLE where the folder can't be made.
 */
export async function openFolderStore(folder: string, files: FileCalls = nodeFiles): Promise<ArtifactStore> {
  await translateErrors(files.mkdir(folder, { recursive: true, mode: 0o700 }))
  const pathOf = (key: string): string => {
    assertArtifactKey(key)
    return join(folder, key)
  }
  return {
    create: async (key) => createArtifactWriter(await translateErrors(openTarget(files, folder, pathOf(key)))),
    read: (key, range) => readFile(files, pathOf(key), key, range),
    size: (key) => translateErrors(sizeOf(files, pathOf(key))),
    async list(prefix) {
      const names = await translateErrors(files.readdir(folder))
      return names.filter((name) => name.startsWith(prefix) && isArtifactKey(name))
    },
    async remove(key) {
      const path = pathOf(key)
      // In this order: a writer that goes on in between finds nothing to rename.
      for (const file of [unfinished(path), path]) await translateErrors(files.rm(file, { force: true }))
    },
    sweep: (leftovers) => translateErrors(sweep(files, folder, leftovers)),
    close: async () => undefined,
  }
}

async function openTarget(files: FileCalls, folder: string, path: string): Promise<ArtifactTarget> {
  const temporary = unfinished(path)
  const handle = await files.open(temporary, 'wx', 0o600)
  return {
    append: (chunk) => handle.appendFile(chunk),
    async publish() {
      await handle.sync()
      await handle.close()
      await files.rename(temporary, path)
      await syncFolder(folder, files.open)
    },
    async discard() {
      try {
        // Closing twice is harmless. Windows removes no file that is open.
        await handle.close()
      } finally {
        await files.rm(temporary, { force: true })
      }
    },
  }
}

async function* readFile(
  files: FileCalls,
  path: string,
  key: string,
  range: ByteRange | undefined,
): AsyncGenerator<Buffer> {
  try {
    const handle = await files.open(path, 'r')
    if (range && range.start >= range.end) return await handle.close()
    yield* handle.createReadStream({ highWaterMark: READ_BYTES, ...(range && inclusive(range)) })
  } catch (error) {
    throw errorCode(error) === 'ENOENT' ? notFound('artifact', key) : storageFault(error)
  }
}

const inclusive = ({ start, end }: ByteRange): ByteRange => ({ start, end: end - 1 })

async function sizeOf(files: FileCalls, path: string): Promise<number | undefined> {
  const found = await unlessMissing(files.stat(path))
  return found?.size
}

async function sweep(files: FileCalls, folder: string, { olderThan, isUnderWay }: Leftovers): Promise<number> {
  let removed = 0
  for (const name of await files.readdir(folder)) {
    if (!isUnfinished(name)) continue
    const found = await unlessMissing(files.stat(join(folder, name)))
    if (!found || found.mtime >= olderThan || (await isUnderWay(keyOf(name)))) continue
    await files.rm(join(folder, name), { force: true })
    removed += 1
  }
  return removed
}
