import { afterAll, beforeAll, expect, test } from 'vitest'
import { mayBeCalled } from '../../src/archive/sql/called-functions.ts'
import { findDefinitionFault } from '../../src/archive/sql/definition.ts'
import { type Grammar, loadGrammar } from '../../src/archive/sql/grammar.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'
import { installedCluster } from '../support/servers/installed-cluster.ts'

let grammar: Grammar
const databases: TestDatabase[] = []

beforeAll(async () => {
  grammar = await loadGrammar()
  databases.push(await createTestDatabase())
  const cluster = installedCluster()
  if (cluster) databases.push(await cluster.createDatabase())
})

afterAll(async () => {
  for (const database of databases) await database.drop()
})

/** What gives another value each time, and does nothing else; and locks of a transaction, for which a wait can be cancelled. */
const GIVE_VALUES: readonly string[] = [
  ...(['array_sample', 'array_shuffle', 'clock_timestamp', 'current_query', 'currval', 'gen_random_uuid'] as const),
  ...([
    'lastval',
    'nextval',
    'pg_advisory_xact_lock',
    'pg_advisory_xact_lock_shared',
    'random',
    'random_normal',
    'timeofday',
    'uuidv4',
    'uuidv7',
  ] as const),
]

/** Functions of PostgreSQL's own that SQL can call. */
const CALLABLE = `
  FROM pg_catalog.pg_proc
 WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f'
   AND NOT proargtypes::oid[] && ARRAY['internal'::regtype::oid]
   AND prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype, 'language_handler'::regtype)`

test('every function of PostgreSQL that may act is refused, but those that give another value each time', async () => {
  for (const database of databases) {
    const volatile = await database.query<{ name: string }>(
      `SELECT DISTINCT proname AS name ${CALLABLE} AND provolatile = 'v' ORDER BY 1`,
    )
    expect(volatile.length).toBeGreaterThan(100)
    const called = volatile.map(({ name }) => name).filter((name) => mayBeCalled(name, 1))
    expect(called.filter((name) => !GIVE_VALUES.includes(name))).toEqual([])
  }
})

test('no function that takes the name of a relation, a type or a role may be called, but nextval and currval', async () => {
  for (const database of databases) {
    const named = await database.query<{ name: string }>(
      `SELECT DISTINCT proname AS name ${CALLABLE}
          AND (proargtypes::oid[] && '{regclass,regtype,regrole,regproc,regprocedure}'::regtype[]::oid[]
            OR provolatile = 's' AND prosrc ~ 'privilege|to_xml|^to_reg') ORDER BY 1`,
    )
    expect(named.length).toBeGreaterThan(20)
    const called = named.map(({ name }) => name).filter((name) => mayBeCalled(name, 1))
    expect(called).toEqual(['currval', 'nextval'])
  }
})

test.each([
  ...GIVE_VALUES.filter((name) => !/val$/.test(name)).map((name) => `${name}()`),
  `nextval('s')`,
  `nextval('"a.b"'::regclass)`,
  `nextval(('s'::text)::regclass)`,
  `currval('s'::regclass)`,
  'lastval()',
  `to_tsvector('english'::regconfig, a)`,
  `to_tsvector('pg_catalog.english', a)`,
  `to_tsvector('Hello. World')`,
  `ts_rewrite(a, 'x', 'y')`,
  `current_setting('app.tenant')`,
  `pg_typeof(a)::text`,
  'txid_current()',
  'pg_current_xact_id()',
  'EXTRACT(year FROM a AT TIME ZONE $$UTC$$)'.replaceAll('$$', "'"),
  'own_range(1, 2)',
  'regexp_replace(a, b, c)',
  `'numeric(3,2)'::regtype`,
  'NULL::regclass',
])('a default may be %s', (expression) => {
  expect(findDefinitionFault(grammar, expression, { form: 'expression' })).toBeUndefined()
})
