import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import type { BorrowedBytes } from '../src/lib/borrowed-bytes.ts'
import { errorCode } from '../src/lib/error-code.ts'
import { spoolArchive } from '../src/transfer/import/spool-archive.ts'
import { buildArchive, column } from './support/archive-builder.ts'
import { EVENT, EVENT_ROWS_TEXT, sampleLines, streamOf } from './support/archive-sample.ts'
import { watchFiles } from './support/failing-files.ts'
import { temporaryFolder } from './support/processes.ts'

const sample = Buffer.concat(sampleLines())
const admit = (): void => undefined
const { signal } = new AbortController()
const script = fileURLToPath(new URL('support/run-spool.ts', import.meta.url))

async function textOf(chunks: AsyncIterable<BorrowedBytes>): Promise<string> {
  const texts: Buffer[] = []
  for await (const chunk of chunks) texts.push(chunk.copy())
  return Buffer.concat(texts).toString()
}

test('of an archive, the rows of each table and the events are kept, and where they are', async () => {
  const folder = await temporaryFolder()
  const archive = await spoolArchive(streamOf(sample), folder, { admit })
  const [shop, blog] = archive.projects
  if (!shop || !blog) throw new Error('the sample has two projects')
  const [album, empty] = shop.stages[0]?.tables ?? []
  const [part, ...others] = album?.parts ?? []
  expect(album).toMatchObject({ name: 'album', rows: 3, isWhole: true })
  expect([part, ...others]).toMatchObject([{ format: 'binary', rows: 3, firstLine: 17 }])
  expect(await textOf(archive.read(part?.range ?? blog.eventLines, signal))).toContain('For Those About To Rock')
  expect(empty).toMatchObject({ name: 'empty', rows: 0, columns: [], parts: [] })
  const events = await textOf(archive.read(shop.eventLines, signal))
  const line = (kind: string): string =>
    [EVENT.stage, EVENT.id, kind, 'album', '{"album_id"}', EVENT_ROWS_TEXT, '\\N', `${EVENT.occurredAt}\n`].join('\t')
  expect(events).toBe(line('create') + line('import'))
  await archive.remove()
  expect(await readdir(folder)).toEqual([])
})

test('rows that take many writes are kept byte by byte', async () => {
  const tables = ['first', 'second'].map((name) => ({
    name,
    columns: [column('n', 'real'), column('c', 'text')],
    rows: Array.from({ length: 20_000 }, (_, n) => [n, `${name} ${'é'.repeat(n % 97)}`]),
  }))
  const archive = await spoolArchive(
    streamOf(buildArchive({ slug: 'shop', stages: [{ tables }] })),
    await temporaryFolder(),
    {
      admit,
    },
  )
  for (const [at, { rows }] of tables.entries()) {
    const range = archive.projects[0]?.stages[0]?.tables[at]?.parts[0]?.range ?? { start: 0, end: 0 }
    expect(await textOf(archive.read(range, signal))).toBe(rows.map((row) => `${row.join('\t')}\n`).join(''))
  }
  await archive.remove()
})

test('an archive that is refused leaves nothing', async () => {
  const folder = await temporaryFolder()
  await expect(spoolArchive(streamOf(sample.subarray(0, -10)), folder, { admit })).rejects.toThrow('line')
  expect(await readdir(folder)).toEqual([])
})

test.each([
  ['EIO', 'STORAGE_UNAVAILABLE'],
  ['ENOSPC', 'STORAGE_FULL'],
])(
  'whichever call to the disk fails with %s, that is said or does no harm, and nothing is left',
  async (system, code) => {
    const folder = await temporaryFolder()
    const files = watchFiles(folder, system)
    onTestFinished(files.restore)
    const readBack = async (): Promise<string> => {
      const archive = await spoolArchive(streamOf(sample), folder, { admit })
      try {
        const [album] = archive.projects[0]?.stages[0]?.tables ?? []
        return await textOf(archive.read(album?.parts[0]?.range ?? { start: 0, end: 0 }, signal))
      } catch (error) {
        return errorCode(error) ?? String(error)
      } finally {
        await archive.remove()
      }
    }
    const whole = await readBack()
    expect(whole).toContain('For Those About To Rock')
    const outcomes: string[] = []
    let nth = 0
    do {
      nth += 1
      files.arm({ nth, lost: 'call' })
      outcomes.push(await readBack().catch((error: unknown) => errorCode(error) ?? String(error)))
      expect(await readdir(folder)).toEqual([])
    } while (files.disarm() >= nth)
    expect(outcomes.at(-1)).toBe(whole)
    expect(new Set(outcomes)).toEqual(new Set([code, whole]))
  },
)

test.skipIf(process.platform === 'win32')(
  'where there is no more room, that is said, and nothing is left',
  async () => {
    const folder = await temporaryFolder()
    // No file may be longer than some hundred kilobytes, which a program meets like a full disk.
    const limited = ['-c', 'ulimit -f 256; exec "$@"', 'sh', process.execPath, '--import', 'tsx', script, folder]
    const { stdout } = await promisify(execFile)('sh', limited, { env: { ...process.env, TSX_DISABLE_CACHE: '1' } })
    expect(stdout).toBe('STORAGE_FULL\n')
    expect(await readdir(folder)).toEqual([])
  },
)
