import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { sampleLines } from '../support/archives/archive-sample.ts'
import { runCommand } from '../support/cli/cli.ts'
import { temporaryFolder } from '../support/processes/processes.ts'

const lines = sampleLines()
const plain = Buffer.concat(lines)
const edited = Buffer.from(plain.toString().replace('[2,', '[7,'))

/** Settings that no other command would work with: this one needs none. */
const variables = { WHARF_PORT: 'wrong' }

async function verify(bytes: Buffer, ...args: readonly string[]) {
  const file = join(await temporaryFolder(), 'shop.jsonl')
  await writeFile(file, bytes)
  return { file, ...(await runCommand(['data:verify', file, ...args], { variables })) }
}

test.each([
  ['plain', plain],
  ['compressed', gzipSync(plain)],
])('a sound archive, %s, is described', async (_, bytes) => {
  const { file, code, stdout, stderr } = await verify(bytes)
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(
      /^warning: the archive lacks things .* no rows are missing with them:\n {2}shop\/live: view/,
    ),
  })
  expect(stdout.split('\n')).toEqual([
    `the rows, roles and events in ${file} are as they were written; it lacks things that no archive can hold, or rights that were not asked for; no rows are missing with them`,
    '  format        version 1, written by wharf/1.0.0',
    '  moment        2026-11-20T21:00:00.000Z',
    `  size          ${bytes.length < 1000 ? `${bytes.length} B` : `${(bytes.length / 1000).toFixed(1)} kB`}, ${lines.length} lines`,
    '  rows          3',
    '  project shop  stages: live; goes to shop-staging; system: 1 role, 2 events',
    '  project blog  stages: none',
    '',
    'project  stage  table  rows',
    'shop     live   album  3',
    'shop     live   empty  0',
    '',
  ])
})

test('a program gets it as one JSON object', async () => {
  const { file, stdout } = await verify(plain, '--json')
  expect(JSON.parse(stdout)).toEqual({
    file,
    complete: false,
    version: 1,
    createdAt: '2026-11-20T21:00:00.000Z',
    snapshotAt: '2026-11-20T21:00:00.000Z',
    generator: 'wharf/1.0.0',
    rows: 3,
    lines: lines.length,
    bytes: plain.length,
    projects: [
      {
        ...{ slug: 'shop', targetSlug: 'shop-staging', system: true, roles: 1, events: 2 },
        stages: [
          {
            slug: 'live',
            rows: 3,
            complete: false,
            notExported: [{ kind: 'view', name: 'best_albums' }],
            extensions: [],
            tables: [
              { name: 'album', rows: 3 },
              { name: 'empty', rows: 0 },
            ],
          },
        ],
      },
      { slug: 'blog', system: false, roles: 0, events: 0, stages: [] },
    ],
  })
})

test.each<[what: string, bytes: Buffer, message: RegExp]>([
  ['with a row changed', edited, /shop\.jsonl: line \d+: has another sum than the lines it closes/],
  [
    'without its last line',
    Buffer.concat(lines.slice(0, -1)),
    /shop\.jsonl: line \d+: is the last, but there is no "end"/,
  ],
  ['of nothing', Buffer.alloc(0), /shop\.jsonl: the file is empty, there is no archive in it \(ARCHIVE_INVALID\)\n$/],
  [
    'cut in its gzip data',
    gzipSync(plain).subarray(0, -9),
    /shop\.jsonl: the file ends in the middle of its gzip data/,
  ],
  ['that is none', Buffer.from('hello\n'), /shop\.jsonl: line 1: is not JSON/],
])('an archive %s is refused, with its first fault', async (_, bytes, message) => {
  const { code, stdout, stderr } = await verify(bytes)
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(message) })
})

test('an archive whose rows were edited is taken where that is allowed', async () => {
  expect(await verify(edited, '--allow-edited')).toMatchObject({ code: 0 })
})

test('an archive can come through standard input', async () => {
  const { code, stdout } = await runCommand(['data:verify', '-'], { variables, input: gzipSync(plain) })
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^the rows, roles and events in standard input are as they were written; it lacks things /,
    ),
  })
})

test('what is no file is wrong use', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'there'))
  for (const [name, message] of [
    ['there', 'is a folder'],
    ['missing', 'there is no file'],
  ] as const) {
    const { code, stderr } = await runCommand(['data:verify', join(folder, name)])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
  }
})
