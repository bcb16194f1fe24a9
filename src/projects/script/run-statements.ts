import pg from 'pg'
import { quoteLiteral } from '../../database/quoting.ts'
import { countNewlines } from './script-window.ts'

/** A statement as it is run, and where it stands in the script. */
export interface LocatedStatement {
  readonly text: string
  readonly line: number
}

/**
 * A block that runs statements. EXECUTE refuses BEGIN, COMMIT and ROLLBACK.
 *
 * @returns the block; and for each statement the line of the block in which it is executed.
 */
export function asBlock(statements: readonly LocatedStatement[]): {
  readonly sql: string
  readonly lines: readonly number[]
} {
  const lines: number[] = []
  let body = 'BEGIN\n'
  let line = 2
  for (const { text } of statements) {
    const command = `EXECUTE ${quoteLiteral(text)};\n`
    lines.push(line)
    line += command.split('\n').length - 1
    body += command
  }
  return { sql: `DO LANGUAGE plpgsql ${quoteLiteral(`${body}END`)}`, lines }
}

/** The line of the script in which a block of statements failed. @param lines as `asBlock` gave them. */
export function failedLine(
  error: unknown,
  statements: readonly LocatedStatement[],
  lines: readonly number[],
): number | undefined {
  if (!(error instanceof pg.DatabaseError)) return undefined
  const failed = statements.find(({ text }) => text === error.internalQuery) ?? statements[failedIndex(error, lines)]
  if (!failed) return undefined
  const isItsPosition = error.internalPosition !== undefined && failed.text === error.internalQuery
  return failed.line + (isItsPosition ? newlinesBefore(failed.text, Number(error.internalPosition) - 1) : 0)
}

/** By the line of the block that the error's context ends with, in whatever language that is. */
function failedIndex({ where = '' }: pg.DatabaseError, lines: readonly number[]): number {
  if (lines.length === 1) return 0
  const [found] = /\d+/.exec(where.split('\n').at(-1) ?? '') ?? []
  return found === undefined ? -1 : lines.findLastIndex((line) => line <= Number(found))
}

/** @param characters as PostgreSQL counts them, while JavaScript counts UTF-16 units. */
function newlinesBefore(text: string, characters: number): number {
  let newlines = 0
  let seen = 0
  for (const character of text) {
    if (seen++ === characters) break
    if (character === '\n') newlines += 1
  }
  return newlines
}

/** The line of the script with the row at which COPY failed; undefined where it does not say. */
export function failedRowLine(error: unknown, table: string, firstLine: number): number | undefined {
  if (!(error instanceof pg.DatabaseError)) return undefined
  const start = `COPY ${table}`
  const context = (error.where ?? '').split('\n').find((line) => line.startsWith(start))
  const [row] = /\d+/.exec(context?.slice(start.length) ?? '') ?? []
  return row === undefined ? undefined : firstLine + Number(row) - 1
}

/** The line behind a statement. */
export const lineBehind = (line: number, bytes: Buffer): number => line + countNewlines(bytes) + 1
