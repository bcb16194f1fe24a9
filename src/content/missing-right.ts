import pg from 'pg'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import { AppError } from '../errors.ts'

/**
 * What PostgreSQL says where a right is missing, as CONFLICT: that of the login itself, or that of the owner of a view that is
 * read; PostgreSQL does not say which. Its message names tables, columns and functions, and no values.
 *
 * @returns undefined where the failure is another one.
 */
export function missingRightFailure(error: unknown): AppError | undefined {
  if (!(error instanceof pg.DatabaseError) || sqlState(error) !== SQLSTATE.insufficientPrivilege) return undefined
  const message =
    `PostgreSQL refuses this: ${error.message}; the owner of what it names has to GRANT the right to the project's own login, or, ` +
    'where a view needs it, to the owner of the view'
  return new AppError('CONFLICT', message, { faults: [{ detail: error.message }], cause: error })
}
