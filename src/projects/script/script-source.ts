import { rejected } from '../sql-rejected.ts'
import type { ScriptWindow } from './script-window.ts'
import type { Token, Tokenizer } from './tokens.ts'

/** Reads on in a script for as long as it takes to see where something ends. */
export interface ScriptSource {
  /** The token at a position of the window; undefined at the end of the script. */
  token(start: number): Promise<Token | undefined>
  /** The position behind the first newline of the window from `start` on; its end where there is none any more. */
  lineEnd(start: number): Promise<number>
  /** @throws {AppError} SQL_REJECTED where so many bytes are more than are held at once. */
  assertNotTooLong(bytes: number): void
}

export function createScriptSource(window: ScriptWindow, tokenizer: Tokenizer, maxBytes: number): ScriptSource {
  const assertNotTooLong = (bytes: number): void => {
    if (bytes > maxBytes) {
      const message = `a statement, or a comment, has more than ${maxBytes} bytes (WHARF_MAX_LINE_BYTES)`
      throw rejected(message, { line: window.line })
    }
  }
  const more = (): Promise<void> => {
    assertNotTooLong(window.bytes.length)
    return window.more()
  }
  return {
    assertNotTooLong,
    async token(start) {
      for (;;) {
        const { bytes, isLast } = window
        if (start < bytes.length) {
          const token = tokenizer.next(bytes, start, isLast)
          if (token) return token
        } else if (isLast) {
          return undefined
        }
        await more()
      }
    },
    async lineEnd(start) {
      for (;;) {
        const found = window.bytes.indexOf('\n', start)
        if (found >= 0) return found + 1
        if (window.isLast) return window.bytes.length
        await more()
      }
    },
  }
}
