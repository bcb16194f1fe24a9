import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { rejected } from '../sql-rejected.ts'
import { passMetaCommand } from './meta-commands.ts'
import { readRows } from './read-rows.ts'
import { createScriptSource } from './script-source.ts'
import { countNewlines, createScriptWindow } from './script-window.ts'
import { createStatementEnd } from './statement-end.ts'
import { createTokenizer, type Token } from './tokens.ts'

/** One statement of a script, without the semicolon behind it. */
export interface Statement {
  /** In the script's own encoding. */
  readonly bytes: Buffer
  /** The line of the script that it begins in, counted from 1. */
  readonly line: number
}

export interface ScriptReader {
  /** Reads up to the next statement's end. @returns undefined behind the last one. */
  next(): Promise<Statement | undefined>
  /**
   * The rows behind a `COPY … FROM stdin`, up to the line `\.`, which is left out.
   *
   * @throws {AppError} SQL_REJECTED where the script ends before that line.
   */
  rows(): AsyncGenerator<BorrowedBytes, void, undefined>
  /** The line that what comes next begins in. */
  readonly line: number
  close(): Promise<void>
}

export interface ReadOptions {
  /** How long a statement, a comment, or a line of a COPY's rows may be. */
  readonly maxBytes: number
  /** Whether a backslash stands for itself in ordinary strings, by now. */
  readonly standardStrings: () => boolean
  /** Gets each comment that stands between statements, with the line that it begins in. */
  readonly onComment: (text: string, line: number) => void
  /** Gets all that is read but the rows of COPY, in order. */
  readonly onRead: (bytes: Buffer) => void
}

/** A comment is only looked at where it is as short as those that pg_dump writes at the beginning and the end. */
const MAX_COMMENT_BYTES = 200

/** Longer than any command of psql. */
const MAX_COMMAND_BYTES = 100

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Reads a script as psql does: statements, and the rows of COPY behind them. What comes next is read when it is asked for,
 * since what a string is depends on what the statements before have set.
 *
 * @throws {AppError} SQL_REJECTED for a command of psql, and for what is too long, with the line.
 */
export function readScript(
  chunks: AsyncIterable<BorrowedBytes>,
  { maxBytes, standardStrings, onComment, onRead }: ReadOptions,
): ScriptReader {
  const window = createScriptWindow(chunks)
  const source = createScriptSource(window, createTokenizer(standardStrings), maxBytes)
  let isAtStart = true

  const drop = (count: number): void => {
    onRead(window.bytes.subarray(0, count))
    window.drop(count)
  }

  const skipByteOrderMark = async (): Promise<void> => {
    isAtStart = false
    while (window.bytes.length < BYTE_ORDER_MARK.length && !window.isLast) await window.more()
    if (window.bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) window.drop(BYTE_ORDER_MARK.length)
  }

  const metaCommand = async (start: number): Promise<void> => {
    const end = await source.lineEnd(start)
    const line = window.line + countNewlines(window.bytes.subarray(0, start))
    passMetaCommand(window.bytes.toString('latin1', start, start + MAX_COMMAND_BYTES), line, start === 0)
    drop(end)
  }

  /** Skips what stands between statements. @returns the first token of the next one; undefined behind the last. */
  const firstToken = async (): Promise<Token | undefined> => {
    for (;;) {
      const token = await source.token(0)
      if (!token) return undefined
      const { kind, end } = token
      source.assertNotTooLong(end)
      if (kind === 'comment' && end <= MAX_COMMENT_BYTES)
        onComment(window.bytes.toString('latin1', 0, end), window.line)
      if (kind === 'backslash') await metaCommand(0)
      else if (kind === 'space' || kind === 'comment' || kind === 'semicolon') drop(end)
      else return token
    }
  }

  return {
    get line() {
      return window.line
    },
    async next() {
      if (isAtStart) await skipByteOrderMark()
      const end = createStatementEnd()
      let token = await firstToken()
      if (!token) return undefined
      const { line } = window
      let length = 0
      for (; token; token = await source.token(length)) {
        if (token.kind === 'backslash') await metaCommand(token.start)
        if (end.isAt(token, window.bytes)) break
        length = token.end
      }
      source.assertNotTooLong(length)
      const bytes = Buffer.from(window.bytes.subarray(0, length))
      drop(token?.end ?? length)
      return { bytes, line }
    },
    async *rows() {
      const { line } = window
      const rest = await source.lineEnd(0)
      if (/\S/.test(window.bytes.toString('latin1', 0, rest))) {
        throw rejected('the rows of COPY begin in the line behind it, so nothing else may stand in its own', { line })
      }
      drop(rest)
      yield* readRows(window, { line, maxBytes })
      onRead(ROWS_LEFT_OUT)
    },
    close: () => window.close(),
  }
}

const ROWS_LEFT_OUT = Buffer.from('-- its rows are left out here\n\\.\n')
