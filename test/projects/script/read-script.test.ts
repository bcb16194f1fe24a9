import { expect, test } from 'vitest'
import { BorrowedBytes } from '../../../src/lib/borrowed-bytes.ts'
import { readScript } from '../../../src/projects/script/read-script.ts'

interface Options {
  readonly size?: number
  readonly maxBytes?: number
  readonly standardStrings?: boolean
}

/** A script in pieces, each in memory that is written over for the next. */
async function* pieces(script: Buffer, size: number): AsyncGenerator<BorrowedBytes, void, undefined> {
  const memory = Buffer.alloc(size)
  for (let at = 0; at < script.length; at += size) {
    const length = script.copy(memory, 0, at, at + size)
    yield new BorrowedBytes(memory.subarray(0, length))
    memory.fill('x')
  }
}

/** All that a script has: the line of each statement and its text, the rows behind those that begin with COPY. */
async function contentsOf(script: string, { size = 7, maxBytes = 10_000, standardStrings = true }: Options = {}) {
  const comments: string[] = []
  let read = ''
  const reader = readScript(pieces(Buffer.from(script), size), {
    maxBytes,
    standardStrings: () => standardStrings,
    onComment: (text, line) => comments.push(`${line} ${text}`),
    onRead: (bytes) => {
      read += bytes.toString()
    },
  })
  const statements: string[] = []
  for (let statement = await reader.next(); statement; statement = await reader.next()) {
    statements.push(`${statement.line} ${statement.bytes.toString()}`)
    if (!/^copy/i.test(statement.bytes.toString())) continue
    let rows = ''
    for await (const chunk of reader.rows()) rows += chunk.now.toString()
    statements.push(rows)
  }
  return { statements, comments, read }
}

const SCRIPTS: readonly [what: string, script: string, statements: readonly string[]][] = [
  ['statements and empty ones', ' ;;SELECT 1;\n;SELECT\n2 ; SELECT 3', ['1 SELECT 1', '2 SELECT\n2 ', '3 SELECT 3']],
  [
    'strings',
    `SELECT ';''\\'; SELECT E'\\';''', B'1;', U&'\\;', "a;""b";`,
    [`1 SELECT ';''\\'`, `1 SELECT E'\\';''', B'1;', U&'\\;', "a;""b"`],
  ],
  [
    'a string that goes on in the next line',
    `SELECT E'a' -- '\n 'b\\';'; SELECT 'a'\n'\\'; SELECT 2`,
    [`1 SELECT E'a' -- '\n 'b\\';'`, `2 SELECT 'a'\n'\\'`, '3 SELECT 2'],
  ],
  ['a string right behind one with escapes', `SELECT E'a' '\\'; SELECT 2;`, [`1 SELECT E'a' '\\'`, '1 SELECT 2']],
  [
    'dollar quotes',
    'SELECT $$;$a$;$$, $a$;$$;$b$;$a$, a$b$, $1, $é_1$;$é_1$; SELECT 2;',
    ['1 SELECT $$;$a$;$$, $a$;$$;$b$;$a$, a$b$, $1, $é_1$;$é_1$', '1 SELECT 2'],
  ],
  [
    'comments',
    '/* a;/* b; */ \n*/ SELECT 1 -- ;\n, 2 /*;*/;-- x;\nSELECT 3--;',
    ['2 SELECT 1 -- ;\n, 2 /*;*/', '4 SELECT 3--;'],
  ],
  [
    'a comment right behind an operator',
    'SELECT 1 +-- ;\n2; SELECT 1 */*;*/2',
    ['1 SELECT 1 +-- ;\n2', '2 SELECT 1 */*;*/2'],
  ],
  [
    'brackets',
    'CREATE RULE r AS ON DELETE TO t DO (SELECT 1; SELECT 2); SELECT 3',
    ['1 CREATE RULE r AS ON DELETE TO t DO (SELECT 1; SELECT 2)', '1 SELECT 3'],
  ],
  [
    'bodies of SQL functions',
    'CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END; SELECT "end"; CREATE procedure p() begin atomic; END; BEGIN; END',
    [
      '1 CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END',
      '1 SELECT "end"',
      '1 CREATE procedure p() begin atomic; END',
      '1 BEGIN',
      '1 END',
    ],
  ],
  ['lines as on Windows', 'SELECT 1;\r\nSELECT\r\n2;\r\n', ['1 SELECT 1', '2 SELECT\r\n2']],
  ['a byte order mark', '\uFEFFSELECT 1', ['1 SELECT 1']],
  [
    'rows',
    'COPY a FROM stdin;\n1\t\\N\n\\\\.\n\\.x\n.\n\\N\n\\.\nCOPY b FROM stdin;\n\\.\nSELECT 1',
    ['1 COPY a FROM stdin', '1\t\\N\n\\\\.\n\\.x\n.\n\\N\n', '8 COPY b FROM stdin', '', '10 SELECT 1'],
  ],
  [
    'rows as on Windows, and none behind',
    'COPY a FROM stdin; \r\n1\r\n\\.\r\nCOPY b FROM stdin;\n2\n\\.',
    ['1 COPY a FROM stdin', '1\r\n', '4 COPY b FROM stdin', '2\n'],
  ],
  ['what restricts psql', '\\restrict a\nSELECT 1;\n\n\\unrestrict a\nSELECT 2', ['2 SELECT 1', '5 SELECT 2']],
  ['what does not end', "SELECT 'a;\nb", ["1 SELECT 'a;\nb"]],
  [
    'a comment that does not end',
    'SELECT 1;\n/* a; /* b; */\nSELECT 2;',
    ['1 SELECT 1', '2 /* a; /* b; */\nSELECT 2;'],
  ],
  ['nothing', ' \n-- nothing\n', []],
]

test.for(SCRIPTS)('reads %s, wherever the script is cut', async ([, script, statements]) => {
  for (let size = 1; size < 40; size += 1) {
    expect((await contentsOf(script, { size })).statements, `in pieces of ${size}`).toEqual(statements)
  }
})

test('a backslash takes the next character along where the session has standard_conforming_strings off', async () => {
  const { statements } = await contentsOf(`SELECT '\\';', 1; SELECT 2`, { standardStrings: false })
  expect(statements).toEqual([`1 SELECT '\\';', 1`, '1 SELECT 2'])
})

test('comments between statements are named with their line, and all but rows is kept', async () => {
  const script = '--\n-- A dump\n--\n\nSELECT 1; /* b */ COPY a FROM stdin;\n1\n2\n\\.\n\n-- end\n'
  const { comments, read } = await contentsOf(script)
  expect(comments).toEqual(['1 --', '2 -- A dump', '3 --', '5 /* b */', '10 -- end'])
  expect(read).toBe(script.replace('1\n2\n', '-- its rows are left out here\n'))
})

const REFUSED: readonly [what: string, script: string, said: RegExp, line: number][] = [
  ['another command of psql', 'SELECT 1;\n  \\i other.sql\n', /\\i is a command of psql .*put what that file holds/, 2],
  ['one in a statement', 'SELECT 1\n, 2 \\gset\n;', /\\gset is a command of psql and not SQL: leave it out/, 2],
  ['a backslash alone', 'SELECT 1 \\', /\\ is a command of psql/, 1],
  ['rows without an end', 'SELECT 1;\nCOPY a FROM stdin;\n1\n2\n', /do not end with a line that is "\\\."/, 2],
  ['something behind COPY', 'COPY a FROM stdin; SELECT 1;\n1\n\\.\n', /nothing else may stand in its own/, 1],
  ['a long statement', `SELECT 1;\nSELECT '${'x'.repeat(300)}'`, /more than 200 bytes \(WHARF_MAX_LINE_BYTES\)/, 2],
  ['a long comment', `SELECT 1;\n/*${'x'.repeat(300)}*/`, /more than 200 bytes/, 2],
  ['a long name of a string', `SELECT $${'x'.repeat(300)}`, /more than 200 bytes/, 1],
  ['a long row', `COPY a FROM stdin;\n1\n${'x'.repeat(300)}\n\\.\n`, /a row of COPY has more than 200 bytes/, 3],
]

test.for(REFUSED)('refuses %s, with the line', async ([, script, said, line]) => {
  for (const size of [1, 10, 1_000]) {
    const refused = contentsOf(script, { size, maxBytes: 200 })
    await expect(refused).rejects.toMatchObject({ code: 'SQL_REJECTED', message: expect.stringMatching(said) })
    await expect(refused).rejects.toMatchObject({ faults: [{ line }] })
  }
})

test('statements and rows that are short may be many in one piece', async () => {
  const script = `${'SELECT 1;'.repeat(100)}COPY a FROM stdin;\n${'1\n'.repeat(1000)}\\.\n`
  expect((await contentsOf(script, { size: 5_000, maxBytes: 30 })).statements).toHaveLength(102)
})
