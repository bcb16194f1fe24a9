import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readArchive } from '../../src/archive/read-archive.ts'
import { selectProject } from '../../src/archive/select-project.ts'
import { copyText } from '../../src/copy/copy-encoders.ts'

interface Sample {
  readonly slug: string
  readonly rows: readonly string[]
}

const json = (kind: string, content: object): string => `${JSON.stringify({ [kind]: content })}\n`

const AT = '2026-11-20T21:00:00.000Z'
const HEADER = json('archive', { version: 2, createdAt: AT, snapshotAt: AT, generator: 'wharf/1.0.0' })
const COLUMN = { name: 'v', type: 'text', notNull: false }

/** The lines of one project. Sums are not compared here. */
const projectText = ({ slug, rows }: Sample): string =>
  [
    json('project', { slug, system: false }),
    json('stage', { slug: 'live', notExported: [], complete: true }),
    json('table', { name: 't', columns: [COLUMN], primaryKey: null }),
    json('rows', { table: 't', columns: ['v'] }),
    ...rows.map((text) => json('row', [text])),
    json('rowsEnd', { table: 't', rows: rows.length, sha256: '' }),
    json('stageEnd', { slug: 'live', tables: 1, rows: rows.length }),
    json('projectEnd', { slug }),
  ].join('')

const archiveOf = (samples: readonly Sample[]): string =>
  HEADER +
  samples.map(projectText).join('') +
  json('end', { projects: samples.length, rows: samples.flatMap(({ rows }) => rows).length })

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function select(bytes: Buffer, slug: string, size = 64 * 1024): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of selectProject(inChunks(bytes, size), slug)) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

const SHOP = { slug: 'shop', rows: ['hat', '{"project":{"slug":"shop"}}', '"}\n{"end":{}}'] }
const BLOG = { slug: 'blog', rows: ['x'.repeat(300_000), '{"projectEnd":{"slug":"blog"}}'] }
const EMPTY = { slug: 'empty', rows: [] }
const ALL = [BLOG, SHOP, EMPTY]

describe('one project of an archive', () => {
  test.each(ALL)('is an archive of $slug alone', async (sample) => {
    expect(await select(Buffer.from(archiveOf(ALL)), sample.slug)).toBe(archiveOf([sample]))
  })

  test('comes out of a compressed archive, too', async () => {
    expect(await select(gzipSync(archiveOf(ALL)), 'shop')).toBe(archiveOf([SHOP]))
  })

  test('is the same however the bytes are cut, and whatever the rows are', async () => {
    const samples = fc.uniqueArray(
      fc.record({ slug: fc.stringMatching(/^[a-z]{1,6}$/), rows: fc.array(fc.string({ unit: 'binary' })) }),
      { selector: ({ slug }) => slug, minLength: 1, maxLength: 4 },
    )
    await fc.assert(
      fc.asyncProperty(samples, fc.integer({ min: 1, max: 300 }), async (all, size) => {
        for (const sample of all) {
          expect(await select(Buffer.from(archiveOf(all)), sample.slug, size)).toBe(archiveOf([sample]))
        }
      }),
      { numRuns: 100 },
    )
  })

  test('that is not in it is not found', async () => {
    await expect(select(Buffer.from(archiveOf(ALL)), 'other')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'there is no project of the archive "other"',
    })
  })

  test.each([
    ['of another project', archiveOf([SHOP, BLOG]).length - 400_000],
    ['of the project', archiveOf([BLOG]).length + 10],
    ['before the last line', archiveOf(ALL).length - 30],
  ])('is no archive where the file ends too early, %s', async (_, length) => {
    const cut = Buffer.from(archiveOf(ALL)).subarray(0, length)
    const reading = async (): Promise<void> => {
      for await (const item of readArchive(selectProject(inChunks(cut, 1_000), 'shop'), copyText, {
        allowEdited: true,
      }))
        expect(item.kind).not.toBe('end')
    }
    await expect(reading()).rejects.toMatchObject({ code: 'ARCHIVE_INVALID' })
  })
})
