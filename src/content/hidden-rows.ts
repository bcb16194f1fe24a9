import pg from 'pg'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import { AppError } from '../errors.ts'

/**
 * What PostgreSQL says instead of leaving rows out (`row_security = off`), as CONFLICT: the policies of a table hold for the
 * login that reads it, as those of its owner do with FORCE ROW LEVEL SECURITY.
 *
 * @returns undefined where the failure is another one.
 */
export function hiddenRowsFailure(error: unknown): AppError | undefined {
  if (!(error instanceof pg.DatabaseError) || sqlState(error) !== SQLSTATE.insufficientPrivilege) return undefined
  // The code is that of all missing rights; where in PostgreSQL it comes from tells them apart, in every language.
  if (error.routine !== 'check_enable_rls') return undefined
  const quoted = /"(.*)"/s.exec(error.message)?.[0]
  const table = quoted === undefined ? 'a table' : `table ${quoted}`
  // PostgreSQL gives its own hint just where the login owns the table.
  const isOwner = error.hint !== undefined
  const reason = isOwner
    ? 'which FORCE ROW LEVEL SECURITY puts under policies for their owner, too'
    : 'which are under policies of row-level security'
  const remedy = isOwner
    ? `ALTER TABLE ${quoted ?? '…'} NO FORCE ROW LEVEL SECURITY, or, as a superuser, `
    : 'as a superuser, '
  const message = `the project's own login may not read all rows of ${table}, ${reason}: ${remedy}ALTER ROLE … BYPASSRLS for that login`
  return new AppError('CONFLICT', message, { faults: [{ detail: error.message }], cause: error })
}
