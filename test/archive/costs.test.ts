import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { verifyArchive } from '../../src/archive/verify-archive.ts'
import { copyText } from '../../src/copy/copy-encoders.ts'
import { buildArchive, column } from '../support/archives/archive-builder.ts'
import { streamOf } from '../support/archives/archive-sample.ts'
import { isThorough } from '../support/thorough.ts'

const MEBIBYTE = 1024 * 1024

/** An archive of about so many bytes whose rows are all the same. */
function repetitive(text: string, bytes: number): Buffer {
  const rows = Array.from({ length: Math.ceil(bytes / (text.length + 12)) }, () => [text])
  return buildArchive({ slug: 'shop', stages: [{ tables: [{ name: 't', columns: [column('c', 'text')], rows }] }] })
}

test.each(isThorough ? [1, 9] : [9])(
  'rows that are all the same are read, however small gzip makes them: level %i',
  async (level) => {
    const archive = repetitive('a'.repeat(10_000), 64 * MEBIBYTE)
    const packed = gzipSync(archive, { level })
    expect(archive.length / packed.length).toBeGreaterThan(200)
    expect((await verifyArchive(streamOf(packed), copyText)).rows).toBeGreaterThan(6_000)
  },
)

test.each([
  ['rows as Wharf writes them', 64, (archive: Buffer) => archive],
  [
    'rows that are written otherwise',
    3,
    (archive: Buffer) => Buffer.from(archive.toString().replaceAll('"row":', '"row": ')),
  ],
])('others have their turns while an archive is read that is all there: %s', async (_, mebibytes, write) => {
  const archive = write(repetitive('x', mebibytes * MEBIBYTE))
  let turns = 0
  let isRead = false
  const reading = verifyArchive(streamOf(archive), copyText, { allowEdited: true }).finally(() => {
    isRead = true
  })
  for (; !isRead; turns += 1) await setImmediate()
  expect((await reading).rows).toBeGreaterThan(200_000)
  expect(turns).toBeGreaterThan(3)
})
