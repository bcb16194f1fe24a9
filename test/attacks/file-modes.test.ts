import { chmod, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openFolderStore } from '../../src/artifacts/folder-store.ts'
import { openFileSink } from '../../src/cli/export/archive-sink.ts'
import { openSpoolFolder } from '../../src/data-folder/spool-folder.ts'
import { createSpoolFile } from '../../src/transfer/import/spool-file.ts'
import { temporaryFolder } from '../support/processes/processes.ts'

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8)

const KEY = '0f8b8a52-2f1f-4d0e-9c5b-0f6d7c1c2a11'

test("reads another user's backup, while it is written and after", async () => {
  const file = join(await temporaryFolder(), 'shop.jsonl.gz')
  const sink = await openFileSink(file)
  await sink.write(Buffer.from('rows'))
  expect(await modeOf(`${file}.part`)).toBe('600')
  await sink.finish()
  expect(await modeOf(file)).toBe('600')
})

test('an archive that takes the place of a file has the permissions that its owner gave that one', async () => {
  const file = join(await temporaryFolder(), 'shop.jsonl.gz')
  await writeFile(file, 'yesterday')
  await chmod(file, 0o640)
  const sink = await openFileSink(file)
  expect(await modeOf(`${file}.part`)).toBe('600')
  await sink.finish()
  expect(await modeOf(file)).toBe('640')
})

test('reads archives and uploads of a server on the same machine', async () => {
  const dataDir = await temporaryFolder()
  const store = await openFolderStore(join(dataDir, 'artifacts'))
  const writer = await store.create(KEY)
  await writer.write(Buffer.from('rows'))
  expect(await modeOf(join(dataDir, 'artifacts', `${KEY}.part`))).toBe('600')
  await writer.commit()
  expect(await modeOf(join(dataDir, 'artifacts', KEY))).toBe('600')
  expect(await modeOf(join(dataDir, 'artifacts'))).toBe('700')

  const spoolFolder = await openSpoolFolder(dataDir)
  const spool = await createSpoolFile(join(spoolFolder, 'rows'))
  expect(await modeOf(join(spoolFolder, 'rows'))).toBe('600')
  expect(await modeOf(join(dataDir, 'spool'))).toBe('700')
  await spool.remove()
})
