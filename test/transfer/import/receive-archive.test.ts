import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { BorrowedBytes } from '../../../src/lib/borrowed-bytes.ts'
import type { ByteRange } from '../../../src/lib/byte-range.ts'
import { errorCode } from '../../../src/lib/error-code.ts'
import { followArchive } from '../../../src/transfer/import/follow-archive.ts'
import { type Archive, openArchive, receiveArchive } from '../../../src/transfer/import/receive-archive.ts'
import { buildArchive, column } from '../../support/archives/archive-builder.ts'
import { EVENT, EVENT_ROWS_TEXT, sampleLines, streamOf } from '../../support/archives/archive-sample.ts'
import { watchFiles } from '../../support/faults/failing-files.ts'
import { bundled } from '../../support/processes/bundled.ts'
import { temporaryFolder } from '../../support/processes/processes.ts'

const sample = Buffer.concat(sampleLines())
const { signal } = new AbortController()
const script = bundled('run-spool')

/** Receives an archive, and removes it when `use` has ended, or when it is refused. */
async function withReceived<T>(bytes: Buffer, folder: string, use: (archive: Archive) => Promise<T>): Promise<T> {
  const archive = await openArchive(folder)
  try {
    await receiveArchive(archive, streamOf(bytes), {})
    return await use(archive)
  } finally {
    await archive.file.remove()
  }
}

const read = ({ file }: Archive, range: ByteRange = { start: 0, end: 0 }): Promise<string> =>
  textOf(file.read([range], signal))

async function textOf(chunks: AsyncIterable<BorrowedBytes>): Promise<string> {
  const texts: Buffer[] = []
  for await (const chunk of chunks) texts.push(chunk.copy())
  return Buffer.concat(texts).toString()
}

test('of an archive, the rows of each table and the events are kept, and where they are', async () => {
  const folder = await temporaryFolder()
  await withReceived(sample, folder, async (archive) => {
    const [shop, blog] = archive.lists.projects
    if (!shop || !blog) throw new Error('the sample has two projects')
    const [album, empty] = shop.stages[0]?.tables ?? []
    const [copy, ...others] = album?.copies ?? []
    expect(album).toMatchObject({ name: 'album', rows: 3, isWhole: true })
    expect([copy, ...others]).toMatchObject([{ format: 'binary', rows: 3, firstLine: 17 }])
    expect(await read(archive, copy?.range)).toContain('For Those About To Rock')
    expect(empty).toMatchObject({ name: 'empty', rows: 0, columns: [], copies: [] })
    const line = (kind: string): string =>
      [EVENT.stage, EVENT.id, kind, 'album', '{"album_id"}', EVENT_ROWS_TEXT, '\\N', `${EVENT.occurredAt}\n`].join('\t')
    expect(await read(archive, shop.eventLines)).toBe(line('create') + line('import'))
  })
  expect(await readdir(folder)).toEqual([])
})

test('rows that come back from the disk with another byte are not loaded', async () => {
  const folder = await temporaryFolder()
  await withReceived(sample, folder, async (archive) => {
    const [album] = archive.lists.projects[0]?.stages[0]?.tables ?? []
    const [copy] = album?.copies ?? []
    if (!album || !copy) throw new Error('the sample has rows')
    // The last bytes are read from memory: what stands for the disk has to give them itself.
    async function* damaged(): AsyncGenerator<BorrowedBytes, void, undefined> {
      for await (const bytes of archive.file.read([copy?.range ?? { start: 0, end: 0 }], signal)) {
        const copy = bytes.copy()
        copy[copy.length - 1] = 255 - (copy.at(-1) ?? 0)
        yield new BorrowedBytes(copy)
      }
    }
    const whole = { from: undefined, mayEnd: () => false }
    const intact = followArchive(archive, { signal }).runOf(album, copy, whole).bytes
    expect((await textOf(intact)).length).toBeGreaterThan(0)
    const follower = followArchive({ ...archive, file: { ...archive.file, read: damaged } }, { signal })
    await expect(textOf(follower.runOf(album, copy, whole).bytes)).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    })
  })
})

test('rows that take many writes are kept byte by byte', async () => {
  const tables = ['first', 'second'].map((name) => ({
    name,
    columns: [column('n', 'real'), column('c', 'text')],
    rows: Array.from({ length: 20_000 }, (_, n) => [n, `${name} ${'é'.repeat(n % 97)}`]),
  }))
  const bytes = buildArchive({ slug: 'shop', stages: [{ tables }] })
  await withReceived(bytes, await temporaryFolder(), async (archive) => {
    for (const [at, { rows }] of tables.entries()) {
      const range = archive.lists.projects[0]?.stages[0]?.tables[at]?.copies[0]?.range
      expect(await read(archive, range)).toBe(rows.map((row) => `${row.join('\t')}\n`).join(''))
    }
  })
})

test('an archive that is refused leaves nothing', async () => {
  const folder = await temporaryFolder()
  const received = withReceived(sample.subarray(0, -10), folder, async () => undefined)
  await expect(received).rejects.toThrow('line')
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
    const readBack = (): Promise<string> =>
      withReceived(sample, folder, async (archive) => {
        const [album] = archive.lists.projects[0]?.stages[0]?.tables ?? []
        return read(archive, album?.copies[0]?.range)
      }).catch((error: unknown) => errorCode(error) ?? String(error))
    const whole = await readBack()
    expect(whole).toContain('For Those About To Rock')
    const outcomes: string[] = []
    let nth = 0
    do {
      nth += 1
      files.arm({ nth, lost: 'call' })
      outcomes.push(await readBack())
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
    const limited = ['-c', 'ulimit -f 256; exec "$@"', 'sh', process.execPath, script, folder]
    const { stdout } = await promisify(execFile)('sh', limited, { env: { ...process.env, TSX_DISABLE_CACHE: '1' } })
    expect(stdout).toBe('STORAGE_FULL\n')
    expect(await readdir(folder)).toEqual([])
  },
)
