import pg from 'pg'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import { databaseFailure, refusedPart, reportsDamage } from '../../database/sqlstate-meanings.ts'
import { AppError } from '../../errors.ts'

/**
 * What PostgreSQL says against a structure or its rows, in words that name what is broken but quote no row.
 *
 * PostgreSQL has the rows in the details of its errors, and for some kinds of them also in the message: those say
 * no more than their SQLSTATE.
 */
export function loadFailure(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  if (sqlState(error) === SQLSTATE.lockNotAvailable) return isBeingRead(error)
  const detail = explain(error)
  return detail === undefined ? (databaseFailure(error) ?? error) : asConflict(detail, error)
}

/** Its tables can't be locked. */
export const isBeingRead = (cause: unknown): AppError =>
  asConflict('the stage is being read, perhaps by an export; try again when that has ended', cause)

const asConflict = (detail: string, cause: unknown): AppError =>
  new AppError('CONFLICT', `nothing was changed: ${detail}`, { faults: [{ detail }], cause })

/** Nothing but the body of a function can name a table that a line does not: PostgreSQL knows what else needs it. */
const NOT_YET =
  '; where a check of a domain, a default or a generated column calls a function that reads a table, this table is made, and ' +
  'has its rows, only later: let a trigger check that instead'

const DAMAGED =
  'it reads the table that an index is made of, or PostgreSQL finds its data damaged, of which its log says more'

/** What a text that names something finds only where it is called the same. */
const NOT_FOUND: readonly (string | undefined)[] = ['42883', '42P01', '42704', '3F000']

const NAMED_IN_BODY =
  '; a body that is a text is left as it is: a schema that it names may have another name here, and what it names without one ' +
  'may not be found while indexes and materialized views are made; one that is written with RETURN or BEGIN ATOMIC names the same everywhere'

/** The function in which something fails. Its name is no value: it is that of what somebody has made in the database. */
function functionIn({ where = '' }: pg.DatabaseError): string | undefined {
  const [, withTypes, bare] =
    /^(?:PL\/pgSQL function (.{1,300}?) line \d+ at |SQL function "(.{1,63})" (?:during|statement))/.exec(where) ?? []
  return withTypes ?? bare
}

/** @returns undefined for what has nothing to do with the archive. */
function explain(error: pg.DatabaseError): string | undefined {
  const { code, message, constraint, table } = error
  const state = sqlState(error)
  const named = functionIn(error)
  if (state === '53200') {
    return 'PostgreSQL has no memory for so many locks; its operator can raise max_locks_per_transaction'
  }
  switch (refusedPart(error)) {
    case 'constraint': {
      const broken = constraint === undefined ? '' : ` "${constraint}"`
      const owner = table === undefined ? '' : ` of table "${table}"`
      return `the rows break the constraint${broken}${owner} (SQLSTATE ${code})`
    }
    case 'statement': {
      const inside = named === undefined ? '' : `, in the function ${named}`
      const isInBody = named !== undefined && NOT_FOUND.includes(state)
      const hint = `${state === SQLSTATE.undefinedTable ? NOT_YET : ''}${isInBody ? NAMED_IN_BODY : ''}`
      return `PostgreSQL refuses the structure${inside}: ${message} (SQLSTATE ${code})${hint}`
    }
    case 'expression': {
      if (state === SQLSTATE.untranslatableCharacter) {
        return `a name or a value has a character that the database's encoding does not have (SQLSTATE ${code})`
      }
      const part = named === undefined ? '' : `, a trigger or an event trigger`
      const inside = named === undefined ? '' : ` in the function ${named}`
      return `an expression of the structure${part} fails${inside}, perhaps on a row (SQLSTATE ${code})`
    }
    default:
      // In a function, that can be one over a table of which an index is being made.
      return reportsDamage(error) && error.where !== undefined
        ? `an expression of the structure fails in a function: ${DAMAGED} (SQLSTATE ${code})`
        : undefined
  }
}
