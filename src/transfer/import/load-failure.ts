import pg from 'pg'
import { databaseTrouble, isServerTrouble } from '../../database/sqlstate-meanings.ts'
import { AppError } from '../../errors.ts'

/**
 * What PostgreSQL says against a structure or its rows, in words that name what is broken but quote no row.
 *
 * PostgreSQL has the rows in the details of its complaints, and for some kinds of them also in the message: those say
 * no more than their SQLSTATE.
 */
export function loadFailure(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const detail = explain(error)
  if (detail === undefined) return databaseTrouble(error) ?? error
  return new AppError('CONFLICT', `nothing was changed: ${detail}`, { faults: [{ detail }], cause: error })
}

/**
 * SQLSTATE classes whose messages are about SQL: not supported, authorization, state, limits, syntax, names, rights.
 */
const ABOUT_SQL: ReadonlySet<string> = new Set(['0A', '2B', '2F', '3F', '42', '54', '55'])

/** @returns undefined for what has nothing to do with the archive. */
function explain(error: pg.DatabaseError): string | undefined {
  const { code = '', message, constraint, table } = error
  if (code === '53200') {
    return 'PostgreSQL has no memory for so many locks; its operator can raise max_locks_per_transaction'
  }
  if (isServerTrouble(error)) return undefined
  if (code === '55P03') return 'the stage is being read, perhaps by an export; try again when that has ended'
  const kind = code.slice(0, 2)
  if (kind === '40') return undefined
  if (kind === '23') {
    const named = constraint === undefined ? '' : ` "${constraint}"`
    const owner = table === undefined ? '' : ` of table "${table}"`
    return `the rows break the constraint${named}${owner} (SQLSTATE ${code})`
  }
  if (ABOUT_SQL.has(kind)) return `PostgreSQL refuses the structure: ${message} (SQLSTATE ${code})`
  return `an expression of the structure fails, perhaps on a row (SQLSTATE ${code})`
}
