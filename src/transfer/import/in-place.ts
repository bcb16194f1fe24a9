import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import { commentOn } from '../structure/clauses.ts'
import type { CreateStatements, StructureLines } from '../structure/create-statements.ts'
import type { LoadingSession } from './loading-session.ts'

/**
 * What stands around loading a stage's tables where they are: foreign keys, constraints that are NOT VALID and the project's
 * own triggers are out of the way while rows come in whatever order, and back before the end.
 *
 * Readers wait for as long as it takes; what they would lose by a swap is what the structure lines do not describe.
 */
export async function inPlaceStatements(session: LoadingSession, structure: StructureLines): Promise<CreateStatements> {
  const { tables } = structure
  const names = tables.map(({ name }) => quoteIdentifier(name))
  const withRows = tables.filter(({ partitionBy }) => partitionBy === undefined)
  const constraints = await session.query<SetAside>(SET_ASIDE_SQL)
  const triggers = await session.query<{ table: string; name: string; mode: 'O' | 'R' | 'A' }>(
    `SELECT relname::text AS table, tgname::text AS name, tgenabled::text AS mode
       FROM pg_catalog.pg_trigger JOIN pg_catalog.pg_class ON pg_class.oid = tgrelid
      WHERE NOT tgisinternal AND tgenabled <> 'D' AND relkind IN ('r', 'p')
        AND ${IN_STAGE}`,
  )
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
      // While we wait for this lock behind a reader, everybody else waits behind us.
      `SET LOCAL lock_timeout = '2s'`,
      ...(names.length > 0 ? [`LOCK TABLE ${names.join(', ')} IN ACCESS EXCLUSIVE MODE`] : []),
      ...constraints.map(({ noun, of, name }) => `ALTER ${noun} ${of} DROP CONSTRAINT ${quoteIdentifier(name)}`),
      ...triggers.map(
        ({ table, name }) => `ALTER TABLE ONLY ${quoteIdentifier(table)} DISABLE TRIGGER ${quoteIdentifier(name)}`,
      ),
      ...forced.map(({ name }) => `ALTER TABLE ${quoteIdentifier(name)} NO FORCE ROW LEVEL SECURITY`),
      ...(withRows.length > 0
        ? [`TRUNCATE ${withRows.map(({ name }) => `ONLY ${quoteIdentifier(name)}`).join(', ')}`]
        : []),
    ],
    after: [
      // Tables with checks that are put off cannot be altered.
      'SET CONSTRAINTS ALL IMMEDIATE',
      ...constraints.flatMap(({ noun, of, name, definition, comment }) => [
        `ALTER ${noun} ${of} ADD CONSTRAINT ${quoteIdentifier(name)} ${definition}`,
        ...commentOn(
          `CONSTRAINT ${quoteIdentifier(name)} ON ${noun === 'TABLE' ? '' : 'DOMAIN '}${of}`,
          comment ?? undefined,
        ),
      ]),
      ...forced.map(({ name }) => `ALTER TABLE ${quoteIdentifier(name)} FORCE ROW LEVEL SECURITY`),
      ...triggers.map(
        ({ table, name, mode }) =>
          `ALTER TABLE ONLY ${quoteIdentifier(table)} ENABLE ${ENABLE[mode]}TRIGGER ${quoteIdentifier(name)}`,
      ),
      ...positions(structure),
    ],
    filled: views.map(({ name }) => name),
    last: [],
  }
}

/** A constraint that is dropped, and made again. */
interface SetAside {
  readonly noun: 'TABLE' | 'DOMAIN'
  /** The table or domain, with its schema, quoted. */
  readonly of: string
  readonly name: string
  readonly definition: string
  readonly comment: string | null
}

// Foreign keys also of tables that have no lines, and of other schemas: nothing can be truncated that is referred to. What is
// inherited goes, and comes, with what it is inherited from.
const SET_ASIDE_SQL = `
SELECT 'TABLE' AS noun, pg_catalog.format('%I.%I', n.nspname, c.relname) AS of, k.conname::text AS name,
       pg_catalog.pg_get_constraintdef(k.oid) AS definition, pg_catalog.obj_description(k.oid, 'pg_constraint') AS comment,
       k.coninhcount AS inherited, k.oid
  FROM pg_catalog.pg_constraint k
  JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_class target ON target.oid = k.confrelid
 WHERE pg_catalog.to_regnamespace(pg_catalog.quote_ident(pg_catalog.current_schema())) IN (n.oid, target.relnamespace)
   AND k.conparentid = 0 AND k.conislocal
   AND (k.contype = 'f' OR (k.contype IN ('c', 'n') AND NOT k.convalidated))
 UNION ALL
SELECT 'DOMAIN', pg_catalog.format('%I.%I', n.nspname, t.typname), k.conname::text,
       pg_catalog.pg_get_constraintdef(k.oid), pg_catalog.obj_description(k.oid, 'pg_constraint'), 0, k.oid
  FROM pg_catalog.pg_constraint k
  JOIN pg_catalog.pg_type t ON t.oid = k.contypid
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
 WHERE n.oid = pg_catalog.to_regnamespace(pg_catalog.quote_ident(pg_catalog.current_schema()))
   AND k.contype = 'c' AND NOT k.convalidated
 ORDER BY inherited, oid`

/** The stage's schema is the first of the session's `search_path`. */
const IN_STAGE = 'relnamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident(pg_catalog.current_schema()))'

const ENABLE = { O: '', R: 'REPLICA ', A: 'ALWAYS ' } as const

/** RESTART, since `setval` would outlive a rollback; then `setval` says whether the value was used already. */
function positions({ sequences, tables }: StructureLines): readonly string[] {
  const identities = tables.flatMap(({ columns }) => columns.flatMap(({ identity }) => identity?.sequence ?? []))
  return [...sequences, ...identities].flatMap((sequence) => [
    `ALTER SEQUENCE ${quoteIdentifier(sequence.name)} RESTART WITH ${sequence.value}`,
    `SELECT pg_catalog.setval(${quoteLiteral(quoteIdentifier(sequence.name))}, ${sequence.value}, ${sequence.called})`,
  ])
}
