import pg from 'pg'
import { AppError } from '../../errors.ts'

/**
 * What PostgreSQL says against a structure or its rows, in words that name what is broken but quote no row: PostgreSQL
 * has those in the detail, not in the message.
 */
export function loadFailure(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  switch (error.code?.slice(0, 2)) {
    case '23': {
      const constraint = error.constraint === undefined ? '' : ` "${error.constraint}"`
      const table = error.table === undefined ? '' : ` of table "${error.table}"`
      const detail = `the rows break the constraint${constraint}${table} (SQLSTATE ${error.code})`
      return new AppError('CONFLICT', `nothing was changed: ${detail}`, { faults: [{ detail }], cause: error })
    }
    case '08':
    case '53':
    case '57':
    case '58':
    case 'XX':
      return error
    default: {
      const detail = `the structure in the archive cannot be built here: ${error.message} (SQLSTATE ${error.code})`
      return new AppError('CONFLICT', `nothing was changed: ${detail}`, { faults: [{ detail }], cause: error })
    }
  }
}
