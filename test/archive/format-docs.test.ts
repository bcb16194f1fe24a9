import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LINES } from '../../src/archive/lines.ts'
import { column } from '../../src/archive/structure-lines.ts'
import { verifyArchive } from '../../src/archive/verify-archive.ts'
import { copyText } from '../../src/copy/copy-encoders.ts'
import { streamOf } from '../support/archives/archive-sample.ts'

const page = readFileSync(new URL('../../docs/archive-format.md', import.meta.url), 'utf8')

/** What the page says under the heading of a kind of line. */
const sectionOf = (kind: string) => page.split(/^#+ /m).find((section) => section.startsWith(`\`${kind}\``))

test('the example of the format is an archive', async () => {
  const [, example = ''] = /```jsonl\n(.*?)```/s.exec(page) ?? []
  const summary = await verifyArchive(streamOf(Buffer.from(example)), copyText)
  expect(summary.projects[0]?.stages).toMatchObject([
    { slug: 'live', tables: [{ name: 'album', rows: 2 }], rows: 2, complete: false },
  ])
})

test.each(Object.entries(LINES))('the format describes every field of a "%s" line', (kind, schema) => {
  for (const field of Object.keys(schema.shape)) expect(sectionOf(kind)).toContain(`\`${field}\``)
})

test('the format describes every field of a column', () => {
  for (const field of Object.keys(column.shape)) {
    expect(sectionOf('table')).toContain(`\`${field}\``)
  }
})
