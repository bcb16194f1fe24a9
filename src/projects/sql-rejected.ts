import pg from 'pg'
import { quoteIdentifier } from '../database/quoting.ts'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import { databaseFailure, refusedPart, reportsDamage } from '../database/sqlstate-meanings.ts'
import { AppError, type Fault } from '../errors.ts'

/** Where a script failed. */
interface Site {
  readonly line?: number | undefined
  /** What the script calls the stage's schema, which it may not know; undefined for the name that it has. */
  readonly schema?: string | undefined
  readonly stageSchema: string
}

/**
 * PostgreSQL's error about a user's script, as SQL_REJECTED; any other error stays as it is.
 *
 * @param pool of the login that ran it.
 */
export async function sqlRejected(error: unknown, { line, ...names }: Site, pool: pg.Pool): Promise<unknown> {
  if (!(error instanceof pg.DatabaseError) || !isOfScript(error)) return databaseFailure(error) ?? error
  const message = (await isTransactionCommand(error, pool))
    ? 'the script begins or ends a transaction, but it runs in one of its own: leave BEGIN, COMMIT and ROLLBACK out'
    : reportsDamage(error)
      ? `${error.message}: ${WHAT_DAMAGE_MEANS}`
      : error.message
  const detail = [message, error.detail, error.hint].filter(Boolean).join('; ')
  return rejected(inScriptsNames(message, names), { line, detail: inScriptsNames(detail, names), cause: error })
}

/**
 * PostgreSQL says `internal_error` also for what it does not support, such as an index over rows of a partitioned table; and
 * that data is damaged, or that a file is missing, where a function reads the table that an index is being made of, or
 * where LOAD names a file that there is not.
 */
const isOfScript = (error: pg.DatabaseError): boolean =>
  refusedPart(error) !== undefined || sqlState(error) === SQLSTATE.internalError || reportsDamage(error)

const WHAT_DAMAGE_MEANS =
  'a function reads the table that an index is made of, or a file is not there; if not, data is damaged, and the log of ' +
  'PostgreSQL says more'

/** A message about the names that the script has, and not those that they were given in the stage. */
function inScriptsNames(message: string, { schema, stageSchema }: Pick<Site, 'schema' | 'stageSchema'>): string {
  if (schema === undefined) return message
  return message
    .replaceAll(`${quoteIdentifier(stageSchema)}.`, `${schema}.`)
    .replaceAll(`${stageSchema}.`, `${schema}.`)
}

/** SQL_REJECTED. @param about the line of the script where it is known; more in `detail` than in the message. */
export function rejected(
  message: string,
  about: { readonly line?: number | undefined; readonly detail?: string; readonly cause?: unknown } = {},
): AppError {
  const { line, detail = message, cause } = about
  const fault: Fault = line === undefined ? { detail } : { line, detail }
  const location = line === undefined ? '' : `line ${line}: `
  return new AppError('SQL_REJECTED', `nothing was changed: ${location}${message}`, { faults: [fault], cause })
}

const FEATURE_NOT_SUPPORTED = '0A000'
const INVALID_TRANSACTION_TERMINATION = '2D000'

/**
 * How PL/pgSQL refuses BEGIN, COMMIT and ROLLBACK: in what a script calls, and in the script itself. The latter has the
 * code of much else and a message in the server's language, so it is known by where in PostgreSQL it comes from.
 */
async function isTransactionCommand(error: pg.DatabaseError, pool: pg.Pool): Promise<boolean> {
  const state = sqlState(error)
  if (state !== FEATURE_NOT_SUPPORTED) return state === INVALID_TRANSACTION_TERMINATION
  const expected: unknown = await pool.query(REFUSED_COMMIT).catch((refused: unknown) => refused)
  return expected instanceof pg.DatabaseError && sourceOf(expected) === sourceOf(error)
}

const REFUSED_COMMIT = `DO LANGUAGE plpgsql $$ BEGIN EXECUTE 'COMMIT'; END $$`

const sourceOf = ({ code, file, line, routine }: pg.DatabaseError): string => [code, file, line, routine].join(' ')
