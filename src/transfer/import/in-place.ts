import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import type { CreateStatements, StructureLines } from '../structure/create-statements.ts'
import { tablesIn } from '../structure/lines.ts'
import { isBeingRead, loadFailure } from './load-failure.ts'
import type { LoadingSession } from './loading-session.ts'
import { makeAgain, SET_ASIDE_SQL, type SetAside } from './set-aside.ts'

/**
 * What stands around loading a stage's tables where they are: foreign keys, constraints that are NOT VALID, the project's
 * own triggers and its rules for INSERT are out of the way while rows come in whatever order, and back before the end.
 *
 * Readers wait for as long as it takes; what they would lose by a swap is what the structure lines do not describe.
 *
 * Locks the tables, and reads then what there is.
 *
 * @param options `lockTimeout`: how long to wait for readers, in all; `withRows`: false where none are loaded, so that
 *   foreign keys are made again without a look at the rows that refer to those which are missing then.
 */
export async function inPlaceStatements(
  session: LoadingSession,
  structure: StructureLines,
  { lockTimeout = '2s', withRows = true }: { readonly lockTimeout?: string; readonly withRows?: boolean } = {},
): Promise<CreateStatements> {
  const tables = tablesIn(structure)
  const names = tables.map(({ name }) => quoteIdentifier(name))
  const emptied = tables.filter(({ partitionBy }) => partitionBy === undefined)
  await lockTables(session, names, lockTimeout)
  const constraints = await session.query<SetAside>(SET_ASIDE_SQL)
  const acting = await session.query<Acting>(ACTING_SQL)
  // With these, a table's owner is under its policies too, and COPY refuses to work.
  const forced = await session.query<{ name: string }>(
    `SELECT relname::text AS name FROM pg_catalog.pg_class
      WHERE relkind IN ('r', 'p') AND relforcerowsecurity
        AND ${IN_STAGE}`,
  )
  const views = await session.query<{ name: string }>(
    `SELECT relname::text AS name FROM pg_catalog.pg_class
      WHERE relkind = 'm' AND relispopulated
        AND ${IN_STAGE}
      ORDER BY oid`,
  )
  return {
    before: [
      ...constraints.map(({ noun, of, name }) => `ALTER ${noun} ${of} DROP CONSTRAINT ${quoteIdentifier(name)}`),
      ...acting.map(
        ({ table, noun, name }) =>
          `ALTER TABLE ONLY ${quoteIdentifier(table)} DISABLE ${noun} ${quoteIdentifier(name)}`,
      ),
      ...forced.map(({ name }) => `ALTER TABLE ${quoteIdentifier(name)} NO FORCE ROW LEVEL SECURITY`),
      ...(emptied.length > 0
        ? [`TRUNCATE ${emptied.map(({ name }) => `ONLY ${quoteIdentifier(name)}`).join(', ')}`]
        : []),
    ],
    families: [],
    after: [
      // Tables with checks that are put off cannot be altered.
      'SET CONSTRAINTS ALL IMMEDIATE',
      ...constraints.flatMap((constraint) => makeAgain(constraint, withRows)),
      ...forced.map(({ name }) => `ALTER TABLE ${quoteIdentifier(name)} FORCE ROW LEVEL SECURITY`),
      ...acting.map(
        ({ table, noun, name, mode }) =>
          `ALTER TABLE ONLY ${quoteIdentifier(table)} ENABLE ${ENABLE[mode]}${noun} ${quoteIdentifier(name)}`,
      ),
      ...positions(structure),
    ],
    acting: [],
    filled: views.map(({ name }) => name),
    last: [],
  }
}

/** While we wait behind the readers of a table, everybody else waits behind us: also for those that are locked already. */
async function lockTables(session: LoadingSession, names: readonly string[], timeout: string): Promise<void> {
  await session.execute(`SET LOCAL lock_timeout = ${quoteLiteral(timeout)}`)
  if (names.length === 0) return
  await session.execute(`SET LOCAL statement_timeout = ${quoteLiteral(timeout)}`)
  try {
    await session.execute(`LOCK TABLE ${names.join(', ')} IN ACCESS EXCLUSIVE MODE`)
  } catch (error) {
    throw sqlState(error) === SQLSTATE.queryCanceled ? isBeingRead(error) : loadFailure(error)
  }
  await session.execute('SET LOCAL statement_timeout = 0')
}

/** The stage's schema is the first of the session's `search_path`. */
const IN_STAGE =
  'relnamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident(pg_catalog.current_schema()))::pg_catalog.oid'

/** What acts when rows come. */
interface Acting {
  readonly table: string
  readonly noun: 'TRIGGER' | 'RULE'
  readonly name: string
  readonly mode: 'O' | 'R' | 'A'
}

// Rows without columns come by INSERT, which rules count for.
const ACTING_SQL = `
SELECT relname::text AS table, 'TRIGGER' AS noun, tgname::text AS name, tgenabled::text AS mode
  FROM pg_catalog.pg_trigger JOIN pg_catalog.pg_class ON pg_class.oid = tgrelid
 WHERE NOT tgisinternal AND tgenabled <> 'D' AND relkind IN ('r', 'p') AND ${IN_STAGE}
 UNION ALL
SELECT relname::text, 'RULE', rulename::text, ev_enabled::text
  FROM pg_catalog.pg_rewrite JOIN pg_catalog.pg_class ON pg_class.oid = ev_class
 WHERE ev_type = '3' AND ev_enabled <> 'D' AND relkind IN ('r', 'p') AND ${IN_STAGE}`

const ENABLE = { O: '', R: 'REPLICA ', A: 'ALWAYS ' } as const

/** RESTART, since `setval` would outlive a rollback; then `setval` says whether the value was used already. */
function positions(lines: StructureLines): readonly string[] {
  const identities = tablesIn(lines).flatMap(({ columns }) =>
    columns.flatMap(({ identity }) => identity?.sequence ?? []),
  )
  return [...lines.sequences, ...identities].flatMap((sequence) => [
    `ALTER SEQUENCE ${quoteIdentifier(sequence.name)} RESTART WITH ${sequence.value}`,
    `SELECT pg_catalog.setval(${quoteLiteral(quoteIdentifier(sequence.name))}, ${sequence.value}, ${sequence.called})`,
  ])
}
