import { type AppError, conflict } from '../errors.ts'
import { SQLSTATE, sqlState } from './sqlstate.ts'

/**
 * The failure of what meets text which PostgreSQL cannot give as UTF-8: what it keeps as `SQL_ASCII` can be any
 * bytes, and other encodings have characters that UTF-8 has not. Undefined for other failures.
 *
 * @param what has the text. @param remedy what helps.
 */
export function unreadableText(error: unknown, what: string, remedy: string): AppError | undefined {
  const state = sqlState(error)
  if (state !== SQLSTATE.characterNotInRepertoire && state !== SQLSTATE.untranslatableCharacter) return undefined
  return conflict(`${what} has text that PostgreSQL cannot give as UTF-8 (SQLSTATE ${state}): ${remedy}`)
}
