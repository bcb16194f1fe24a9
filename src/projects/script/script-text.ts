import { isUtf8 } from 'node:buffer'
import type pg from 'pg'
import { rejected } from '../sql-rejected.ts'
import type { Statement } from './read-script.ts'

/** How a script is read, by what it has set so far. */
export interface ScriptText {
  /** `standard_conforming_strings` */
  readonly standardStrings: boolean
  /** What its rows are written in; undefined for UTF-8, in which all of Wharf's sessions are. */
  readonly encoding: string | undefined
  /** Reads a statement. @throws {AppError} SQL_REJECTED for bytes that are not of the encoding, and NUL. */
  decode(statement: Statement): Promise<string>
  /** Looks what a statement that has run has changed of it. */
  follow(statement: string): Promise<void>
}

/** Encodings in which a byte below 128 can be the second one of a character. No server stores text in them. */
const NOT_READ: ReadonlySet<string> = new Set([
  ...(['SJIS', 'BIG5', 'GBK', 'UHC', 'GB18030', 'JOHAB', 'SHIFT_JIS_2004'] as const),
])

const SETS_STRINGS = /standard_conforming_strings/i
const SETS_ENCODING = /client_encoding|^set\s+(?:(?:session|local)\s+)?names\b/i

/** @param client in which the script runs. */
export function createScriptText(client: pg.PoolClient): ScriptText {
  let standardStrings = true
  let encoding: string | undefined

  const convert = async ({ bytes, line }: Statement, from: string): Promise<string> => {
    if (NOT_READ.has(from)) throw rejected(`a script in ${from} is not read: ${DUMP_AS_UTF8}`, { line })
    const { rows } = await client.query<{ text: string }>('SELECT pg_catalog.convert_from($1, $2) AS text', [
      bytes,
      from,
    ])
    return rows[0]?.text ?? ''
  }

  return {
    get standardStrings() {
      return standardStrings
    },
    get encoding() {
      return encoding
    },
    async decode(statement) {
      const { bytes, line } = statement
      // PostgreSQL's protocol ends a statement at its first NUL: it would see another message than was sent.
      const nul = bytes.indexOf(0)
      if (nul >= 0) throw rejected('a NUL character can stand in no SQL', { line: line + newlinesIn(bytes, nul) })
      if (encoding !== undefined) return convert(statement, encoding)
      if (!isUtf8(bytes)) {
        throw rejected(`has bytes that are not UTF-8, and the script says no other encoding before: ${DUMP_AS_UTF8}`, {
          line: line + newlinesIn(bytes, firstFault(bytes)),
        })
      }
      return bytes.toString()
    },
    async follow(statement) {
      const setsEncoding = SETS_ENCODING.test(statement)
      if (!setsEncoding && !SETS_STRINGS.test(statement)) return
      const { rows } = await client.query<{ strings: string; encoding: string }>(SETTINGS)
      const [now] = rows
      standardStrings = now?.strings !== 'off'
      if (!setsEncoding) return
      encoding = now === undefined || IS_UTF8.has(now.encoding) ? undefined : now.encoding
      // What is sent is in UTF-8, and what is read of the answers.
      await client.query(`SET client_encoding = 'UTF8'`)
    },
  }
}

const DUMP_AS_UTF8 = 'make the dump with pg_dump --encoding=UTF8, or begin the script with SET client_encoding'

const SETTINGS = `SELECT pg_catalog.current_setting('standard_conforming_strings') AS strings,
  pg_catalog.pg_client_encoding()::text AS encoding`

/** SQL_ASCII says nothing of bytes above 127, so they are read as those of the database. */
const IS_UTF8: ReadonlySet<string> = new Set(['UTF8', 'SQL_ASCII'])

const newlinesIn = (bytes: Buffer, end: number): number => bytes.toString('latin1', 0, end).split('\n').length - 1

/** Where the first line begins that is no UTF-8. */
function firstFault(bytes: Buffer): number {
  for (let start = 0; ; ) {
    const end = bytes.indexOf('\n', start)
    if (end < 0 || !isUtf8(bytes.subarray(start, end))) return start
    start = end + 1
  }
}
