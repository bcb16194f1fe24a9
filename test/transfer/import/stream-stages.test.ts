import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compressArchive } from '../../../src/archive/compress-archive.ts'
import type { readArchive } from '../../../src/archive/read-archive.ts'
import { unpack } from '../../../src/archive/unpack.ts'
import type { verifyArchive } from '../../../src/archive/verify-archive.ts'
import { openFolderStore } from '../../../src/artifacts/folder-store.ts'
import type { compressBlocks } from '../../../src/compression/compress-blocks.ts'
import { copyInto } from '../../../src/copy/copy-into.ts'
import { BorrowedBytes, copied } from '../../../src/lib/borrowed-bytes.ts'
import type { ByteRange } from '../../../src/lib/byte-range.ts'
import { coalesce, coalesceBorrowed } from '../../../src/lib/coalesce.ts'
import { collectPassed } from '../../../src/lib/collect-passed.ts'
import { fixedBlocks } from '../../../src/lib/fixed-blocks.ts'
import { lineBlocks } from '../../../src/lib/line-blocks.ts'
import type { readText } from '../../../src/lib/read-text.ts'
import { recogniseCoding } from '../../../src/lib/recognise-coding.ts'
import { writeBorrowed } from '../../../src/lib/write-borrowed.ts'
import { mapCopiedNames } from '../../../src/projects/script/object-values.ts'
import { createScriptWindow } from '../../../src/projects/script/script-window.ts'
import type { checkArchive, receiveArchive } from '../../../src/transfer/import/receive-archive.ts'
import { createSpoolFile } from '../../../src/transfer/import/spool-file.ts'
import { collect, streamOf } from '../../support/archives/archive-sample.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'
import { temporaryFolder } from '../../support/processes/processes.ts'

const KIBIBYTE = 1024
const SOURCE = fileURLToPath(new URL('../../../src', import.meta.url))
const { signal } = new AbortController()

const whole = () => ({ maxBytes: Number.POSITIVE_INFINITY, inPieces: false })

/** Lines of letters, which PostgreSQL takes as text too. */
const bytes = Buffer.concat(
  Array.from({ length: 4_000 }, (_, n) => Buffer.from(`${randomBytes(1 + (n % 700)).toString('hex')}\n`)),
)

/** How chunks may be cut: below, at and above the sizes at which stages copy. */
const CUTS = [1_000, 64 * KIBIBYTE, 128 * KIBIBYTE, 512 * KIBIBYTE + 1]

const cut = (size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size))

/** Lends all chunks in one buffer, which is written over as soon as the next is asked for. */
async function* lent(chunks: readonly Buffer[]): AsyncGenerator<BorrowedBytes, void, undefined> {
  const buffer = Buffer.alloc(Math.max(...chunks.map(({ length }) => length)))
  for (const chunk of chunks) {
    yield new BorrowedBytes(buffer.subarray(0, chunk.copy(buffer)))
    buffer.fill('!')
  }
}

let database: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await createTestDatabase()
  pool = new pg.Pool({ connectionString: database.url, max: 1 })
  pool.on('error', () => undefined)
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

const joined = async (chunks: AsyncIterable<BorrowedBytes>): Promise<Buffer> =>
  Buffer.concat(await collect(copied(chunks)))

/** Every stage that takes bytes whose memory is used again, by its file. @returns all that has come out. */
const BORROWERS: Readonly<Record<string, (chunks: AsyncIterable<BorrowedBytes>) => Promise<Buffer>>> = {
  'lib/borrowed-bytes.ts': async (chunks) => Buffer.concat(await collect(copied(chunks))),
  'archive/compress-archive.ts': async (chunks) => gunzipSync(await joined(compressArchive(chunks))),
  'lib/coalesce.ts': (chunks) => joined(coalesceBorrowed(chunks)),
  'lib/collect-passed.ts': (chunks) => joined(collectPassed(chunks)),
  async 'lib/write-borrowed.ts'(chunks) {
    const written: Buffer[] = []
    const slow = new Writable({
      highWaterMark: Number.MAX_SAFE_INTEGER,
      write(chunk: Buffer, _encoding, done) {
        setImmediate(() => {
          written.push(Buffer.from(chunk))
          done()
        })
      },
    })
    await writeBorrowed(chunks, slow)
    return Buffer.concat(written)
  },
  async 'transfer/import/spool-file.ts'(chunks) {
    const file = await createSpoolFile(join(await temporaryFolder(), 'spool'))
    for await (const chunk of chunks) await file.append(chunk)
    await file.finish()
    const read = await joined(file.read([{ start: 0, end: file.size }], signal))
    await file.remove()
    return read
  },
  async 'projects/script/script-window.ts'(chunks) {
    const window = createScriptWindow(chunks)
    while (!window.isLast) await window.more()
    return Buffer.from(window.bytes)
  },
  'projects/script/object-values.ts': (chunks) =>
    joined(mapCopiedNames(chunks, [{ index: 0, isArray: false }], { schema: 'public', to: 'stage' })),
  'events/load-log.ts': async (chunks) => Buffer.concat(await collect(lineBlocks(copied(chunks), whole))),
  async 'copy/copy-into.ts'(chunks) {
    const client = await pool.connect()
    await client.query('CREATE TEMP TABLE line (n serial, text text)')
    await copyInto(client, 'COPY line (text) FROM STDIN', chunks)
    const { rows } = await client.query(`SELECT string_agg(text || E'\\n', '' ORDER BY n) AS text FROM line`)
    client.release(true)
    return Buffer.from(String(rows[0]?.text))
  },
}

/** By the name of the bytes, or of what is handed a stream of them. */
const HAS_TO_DO = /\b(BorrowedBytes|UseExport|WithArchive)\b/

/** Files that only hand such bytes on to one of these, unread. */
const HANDING_ON = new Set([
  'api/routers/export.ts',
  'api/routers/receive-script.ts',
  'cli/direct/direct-source.ts',
  'archive/archive-item.ts',
  'archive/row-encoder.ts',
  'compression/compress-blocks.ts',
  'lib/growing-buffer.ts',
  'projects/apply-schema.ts',
  'projects/demo-project.ts',
  'projects/script/prepare-statement.ts',
  'projects/script/read-rows.ts',
  'projects/script/read-script.ts',
  'projects/script/run-script.ts',
  'transfer/export/direct-export.ts',
  'transfer/export/export-archive.ts',
  'transfer/export/open-export.ts',
  'transfer/export/with-export.ts',
  'transfer/import/archive-runs.ts',
  'transfer/import/copy-rows.ts',
  'transfer/import/receive-archive.ts',
  'workers/kept-archive.ts',
  'workers/processors/export.ts',
  'workers/processors/push-archive.ts',
  'workers/processors/transfer.ts',
  'workers/restore-archive.ts',
])

test.each(Object.entries(BORROWERS))(
  'what %s makes of bytes does not change when these are written over',
  async (_, stage) => {
    for (const size of CUTS) expect((await stage(lent(cut(size)))).equals(bytes), `in chunks of ${size}`).toBe(true)
  },
)

test('every file that has to do with such bytes is among these', async () => {
  const files = (await readdir(SOURCE, { recursive: true })).filter((file) => file.endsWith('.ts'))
  const texts = await Promise.all(
    files.map(async (file) => [file, await readFile(join(SOURCE, file), 'utf8')] as const),
  )
  const concerned = texts.filter(([, text]) => HAS_TO_DO.test(text)).map(([file]) => file)
  const known = [...Object.keys(BORROWERS).filter((file) => concerned.includes(file)), ...HANDING_ON]
  expect(concerned.sort()).toEqual(known.sort())
})

test('a spool file gives what was appended also to a reader who follows while it is appended', async () => {
  const file = await createSpoolFile(join(await temporaryFolder(), 'spool'))
  // 512 KiB is no multiple of this: most buffers are full in the middle of a piece.
  const pieces = Array.from({ length: 20_000 }, () => randomBytes(997))
  let appended = 0
  async function* ranges(): AsyncGenerator<ByteRange, void, undefined> {
    for (let start = 0; start < pieces.length * 997; ) {
      const end = appended
      if (end > start) yield { start, end }
      start = end
      await nextTurn()
    }
  }
  const reading = joined(file.read(ranges(), signal))
  for (const [n, piece] of pieces.entries()) {
    await file.append(new BorrowedBytes(piece))
    appended = file.size
    // So that the reader is at the last bytes when the next buffer is full.
    if (n % 50 === 0) await nextTurn()
  }
  expect((await reading).equals(Buffer.concat(pieces))).toBe(true)
  await file.finish()
  await file.remove()
})

/** True for a stage that may keep what it is given, and so takes nothing that is borrowed. */
type Refusing<Stage> = Stage extends (chunks: infer Chunks, ...others: never[]) => unknown
  ? AsyncIterable<BorrowedBytes> extends Chunks
    ? false
    : true
  : never

test('a stage that keeps bytes refuses borrowed ones when it is compiled', () => {
  const refusing: {
    readonly coalesce: Refusing<typeof coalesce>
    readonly fixedBlocks: Refusing<typeof fixedBlocks>
    readonly compressBlocks: Refusing<typeof compressBlocks>
    readonly lineBlocks: Refusing<typeof lineBlocks>
    readonly readText: Refusing<typeof readText>
    readonly unpack: Refusing<typeof unpack>
    readonly readArchive: Refusing<typeof readArchive>
    readonly verifyArchive: Refusing<typeof verifyArchive>
    readonly checkArchive: Refusing<typeof checkArchive>
    readonly receiveArchive: Refusing<(bytes: Parameters<typeof receiveArchive>[1]) => unknown>
    readonly recogniseCoding: Refusing<typeof recogniseCoding>
  } = {
    coalesce: true,
    fixedBlocks: true,
    compressBlocks: true,
    lineBlocks: true,
    readText: true,
    unpack: true,
    readArchive: true,
    verifyArchive: true,
    checkArchive: true,
    receiveArchive: true,
    recogniseCoding: true,
  }
  expect(Object.values(refusing)).not.toContain(false)
})

/** Every source of Buffers, each to its end: those may be kept. */
const SOURCES: Readonly<Record<string, () => AsyncIterable<Buffer> | Promise<AsyncIterable<Buffer>>>> = {
  coalesce: () => coalesce(streamOf(...cut(1_000))),
  fixedBlocks: () => fixedBlocks(streamOf(...cut(1_000)), 64 * KIBIBYTE),
  lineBlocks: () => lineBlocks(streamOf(...cut(1_000)), whole),
  collectPassed: () => collectPassed(streamOf(...cut(1_000))),
  'unpack, of plain bytes': () => unpack(streamOf(...cut(1_000))),
  'unpack, of gzip': () => unpack(streamOf(gzipSync(bytes))),
  recogniseCoding: async () => (await recogniseCoding(streamOf(...cut(1_000)))).bytes,
  async 'a folder of artifacts'() {
    const store = await openFolderStore(await temporaryFolder())
    const key = '00000000-0000-4000-8000-000000000000'
    const writer = await store.create(key)
    await writer.write(bytes)
    await writer.commit()
    return store.read(key)
  },
}

const sumOfAll = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString('latin1')

test.each(Object.entries(SOURCES))('no chunk of %s changes once it has been handed on', async (_, open) => {
  const kept: Buffer[] = []
  const copies: Buffer[] = []
  for await (const chunk of await open()) {
    kept.push(chunk)
    copies.push(Buffer.from(chunk))
  }
  expect(kept.length).toBeGreaterThan(0)
  expect(sumOfAll(kept) === sumOfAll(copies)).toBe(true)
})
