import { gzipSync } from 'node:zlib'
import { buildArchive, column } from '../support/archives/archive-builder.ts'
import { isThorough } from '../support/thorough.ts'

const MEBIBYTE = 1024 * 1024

/** An archive that costs its reader much, or would. It goes to project `guest` and its stage `live`. */
export interface HostileArchive {
  /** What it is, for the name of a test. */
  readonly name: string
  /** Compressed. */
  readonly bytes: () => Buffer
  /** Why it is refused. */
  readonly says: RegExp
}

const line = (kind: string, content: unknown): string => `${JSON.stringify({ [kind]: content })}\n`

const at = '2026-11-20T21:00:00.000Z'
const ARCHIVE = line('archive', { version: 1, createdAt: at, snapshotAt: at, generator: 'by-hand/1' })
const PROJECT = `${ARCHIVE}${line('project', { slug: 'guest', system: false })}`
const SYSTEM = `${ARCHIVE}${line('project', { slug: 'guest', system: true })}${line('system', {})}`
const STAGE = `${PROJECT}${line('stage', { slug: 'live' })}`
const ROWS = [
  STAGE,
  line('table', { name: 't', columns: [{ name: 'a', type: 'text', nullable: true }] }),
  line('rows', { table: 't', columns: ['a'] }),
].join('')

const EVENT_START =
  '{"event":{"id":"0191d0a4-7c1e-7b7a-9a54-1f2e3d4c5b6a","stage":"live","kind":"create",' +
  `"occurredAt":"${at}","rows":["`

/** `text` as often as it takes to be about so long. */
const much = (text: string, bytes: number): Buffer => Buffer.alloc(bytes - (bytes % Buffer.byteLength(text)), text)

/** As long as a check may be; PostgreSQL prints it in other words. */
const LONG_CHECK = `CHECK (a IN (${Array.from({ length: 2_900 }, () => '1').join(', ')}))`

/** An archive that is whole, and whose structure is built. A column in it makes a sequence that no line describes. */
const longChecks = (tables: number, checks: number): Buffer =>
  buildArchive({
    slug: 'guest',
    stages: [
      {
        tables: Array.from({ length: tables }, (_, table) => ({
          name: `t${table}`,
          columns: [column('a', 'integer'), column('b', 'serial', { nullable: false })],
          checks: Array.from({ length: checks }, (_, n) => ({ name: `check_${n}`, definition: LONG_CHECK })),
        })),
      },
    ],
  })

type Part = string | (() => Buffer | string)

function hostile(name: string, says: RegExp, ...parts: readonly Part[]): HostileArchive {
  let packed: Buffer | undefined
  const pack = (): Buffer =>
    gzipSync(Buffer.concat(parts.map((part) => Buffer.from(typeof part === 'string' ? part : part()))))
  return {
    name,
    says,
    bytes() {
      packed ??= pack()
      return packed
    },
  }
}

/** Archives for every test of what hostile archives do to a reader. */
export const HOSTILE_ARCHIVES: readonly HostileArchive[] = [
  hostile('a first line without an end', /longer|expands/, () => Buffer.alloc(64 * MEBIBYTE)),
  hostile('a table of brackets', /longer|expands/, STAGE, '{"table":', () => much('[', 60 * MEBIBYTE)),
  hostile(
    'a table of brackets, as long as a line may be',
    /nested/,
    STAGE,
    '{"table":',
    () => much('[', 2_000_000),
    '\n',
  ),
  hostile('a table of empty objects', /longer|expands/, STAGE, '{"table":[0', () => much(',{}', 60 * MEBIBYTE), ']}\n'),
  hostile(
    'a table of as many empty objects as a line may have',
    /100000 values/,
    STAGE,
    '{"table":{"columns":[0',
    () => much(',{}', 2_000_000),
    ']}}\n',
  ),
  hostile(
    'a table whose columns are all wrong',
    /columns/,
    STAGE,
    '{"table":{"name":"t","columns":[{}',
    () => much(',{}', 140_000),
    ']}}\n',
  ),
  hostile(
    'an object of very many names',
    /1000 keys/,
    STAGE,
    '{"table":{"name":"t"',
    () => Array.from({ length: 45_000 }, (_, n) => `,"${n}":0`).join(''),
    '}}\n',
  ),
  hostile(
    'a type of parentheses without an end',
    /columns\.0\.type/,
    STAGE,
    '{"table":{"name":"t","columns":[{"name":"a","nullable":true,"type":"',
    () => much('(', 2_000_000),
    `\\n"}]}}\n${line('rows', { table: 't', columns: ['a'] })}`,
  ),
  hostile(
    'an event whose row is nested without an end',
    /event|JSON/,
    SYSTEM,
    EVENT_START,
    () => much('[', 30 * MEBIBYTE),
    '"]}}\n',
  ),
  hostile(
    'an event whose row is very many empty objects',
    /incomplete|event/,
    SYSTEM,
    EVENT_START,
    '[0',
    () => much(',{}', 30 * MEBIBYTE),
    ']"]}}\n',
  ),
  hostile(
    'an event of very many rows',
    /100000 values/,
    SYSTEM,
    EVENT_START,
    () => much('1","', 30 * MEBIBYTE),
    '1"]}}\n',
  ),
  hostile('a row of brackets', /must be/, ROWS, '{"row":[', () => much('[', 60 * MEBIBYTE), ']}\n'),
  hostile('a row of very many values', /is a number/, ROWS, '{"row":[0', () => much(',0', 60 * MEBIBYTE), ']}\n'),
  hostile('a row of one long number', /JSON/, ROWS, '{"row":[', () => much('1', 60 * MEBIBYTE), ']}\n'),
  hostile('a row of many spaces', /incomplete|no newline/, ROWS, '{"row":[', () => much(' ', 10 * MEBIBYTE), '"a"]}\n'),
  hostile(
    'a row of escapes',
    /incomplete|no newline/,
    ROWS,
    '{"row":["',
    () => much('\\u000a', 10 * MEBIBYTE),
    '"]}\n',
  ),
  hostile('very many rows that are written with spaces', /incomplete|no newline/, ROWS, () =>
    much('{"row": ["a"]}\n', 3 * MEBIBYTE),
  ),
  hostile('very many empty rows of the wrong length', /0 values/, ROWS, () => much('{"row":[]}\n', 30 * MEBIBYTE)),
  hostile('very many long checks, compared after they were built', /structure is not what its lines say/, () =>
    longChecks(isThorough ? 10 : 3, 20),
  ),
  hostile('very many projects', /1000 projects/, ARCHIVE, () =>
    Array.from(
      { length: 20_000 },
      (_, n) => line('project', { slug: `p${n}`, system: false }) + line('projectEnd', { slug: `p${n}` }),
    ).join(''),
  ),
  hostile('very many roles with long names', /role\.name|bytes that are read|expands/, SYSTEM, () =>
    Array.from({ length: 7_000 }, (_, n) => line('role', { name: `${n}${'x'.repeat(10_000)}` })).join(''),
  ),
  hostile(
    'very many stages',
    /has no stage|no stage/,
    PROJECT,
    () =>
      Array.from(
        { length: 20_000 },
        (_, n) => line('stage', { slug: `s${n}` }) + line('stageEnd', { slug: `s${n}`, tables: 0, rows: 0 }),
      ).join(''),
    line('projectEnd', { slug: 'guest' }),
    line('end', { projects: 1, rows: 0 }),
  ),
]
