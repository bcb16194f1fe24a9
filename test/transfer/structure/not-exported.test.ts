import { afterAll, beforeAll, expect, test } from 'vitest'
import { readStructure, type StageStructure, toLines } from '../../../src/transfer/structure/read-structure.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'
import { openStage, type StageSession } from '../../support/database/stage-session.ts'
import { withSession } from '../../support/servers/sessions.ts'

let database: TestDatabase
let stage: StageSession
let structure: StageStructure

beforeAll(async () => {
  database = await createTestDatabase()
  await asSuperuser([
    'CREATE SCHEMA elsewhere',
    'CREATE EXTENSION hstore SCHEMA elsewhere',
    'CREATE FOREIGN DATA WRAPPER none',
    'CREATE SERVER nowhere FOREIGN DATA WRAPPER none',
    'GRANT USAGE ON FOREIGN SERVER nowhere TO PUBLIC',
    'GRANT USAGE ON SCHEMA elsewhere TO PUBLIC',
  ])
  stage = await openStage(database.url, 'stage')
  await stage.runFixture('not-described.sql')
  await asSuperuser([
    'SET search_path = stage',
    'CREATE TYPE undefined',
    'CREATE OPERATOR CLASS odd_ops FOR TYPE integer USING btree AS OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 btint4cmp(integer, integer)',
    'CREATE TABLE with_odd_ops (n integer)',
    'CREATE INDEX by_odd_ops ON with_odd_ops (n odd_ops)',
    'ALTER TABLE ancestor ADD COLUMN c elsewhere.hstore',
    'GRANT USAGE ON SCHEMA stage TO PUBLIC',
    'CREATE TABLE elsewhere.parted_3 PARTITION OF parted FOR VALUES FROM (20) TO (30)',
    'CREATE TABLE elsewhere.heir () INHERITS (base)',
    'ALTER FUNCTION f(integer) DEPENDS ON EXTENSION plpgsql',
    'ALTER TRIGGER their_own ON base DEPENDS ON EXTENSION plpgsql',
    'CREATE FUNCTION on_event() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN END$$',
    `CREATE EVENT TRIGGER on_cast ON ddl_command_end WHEN TAG IN ('CREATE CAST') EXECUTE FUNCTION on_event()`,
    'CREATE FUNCTION to_point(integer) RETURNS point LANGUAGE sql IMMUTABLE AS $$SELECT point($1, $1)$$',
    'CREATE CAST (integer AS point) WITH FUNCTION to_point(integer)',
    'ALTER INDEX kept_index DEPENDS ON EXTENSION plpgsql',
  ])
  structure = await readStructure(stage.query, 'stage')
})

afterAll(async () => {
  await stage?.end()
  await database?.drop()
})

const asSuperuser = (statements: readonly string[]): Promise<void> =>
  withSession(database.superuserUrl, async (client) => {
    for (const statement of statements) await client.query(statement)
  })

const needs = (what: string): string => `needs ${what}, which archives do not describe`
const hidden = (what: string, renamed: string): string =>
  `needs ${what}, which PostgreSQL's own type of that name hides: rename the ${renamed}`
const withRows = (reason: string): string => `${reason}; its rows are not exported either`

const EXPECTED: readonly (readonly [kind: string, name: string, detail?: string])[] = [
  ['cast', 'integer AS point', 'neither of its types is in the schema'],
  ['comment', 'constraint base_n_not_null on table base'],
  ['comment', 'constraint positive on table piece'],
  ['comment', 'constraint refers on table piece'],
  ['comment', 'rule _RETURN on view a_view'],
  ['comment', 'trigger acts on table piece'],
  ['comment', 'type measured_multirange'],
  ['composite type', 'of_hstore', needs('type elsewhere.hstore')],
  ['default', 'parts.hidden', needs('type elsewhere.hstore')],
  ['dependency', 'function f(integer)', 'on extension plpgsql'],
  ['dependency', 'function needed()', 'on extension plpgsql'],
  ['dependency', 'index kept_index', 'on extension plpgsql'],
  ['dependency', 'trigger their_own on table base', 'on extension plpgsql'],
  ['enum', 'date', 'a built-in object of the same name hides it: rename it'],
  ['event trigger', 'on_cast', 'calls on_event'],
  ['foreign key', 'refers_to_ancestor.refers_to_ancestor_id_fkey', needs('table ancestor')],
  ['foreign table', 'parted_in_part_2', 'its rows are not exported either'],
  ['index', 'with_odd_ops.by_odd_ops', needs('operator class odd_ops for access method btree')],
  ['operator class', 'odd_ops'],
  ['operator family', 'odd_ops'],
  ['owner', 'on_event', 'belongs to postgres'],
  ['owner', 'to_point', 'belongs to postgres'],
  ['owner', 'with_odd_ops', 'belongs to postgres'],
  [
    'partitioned table',
    'parted',
    'its partition elsewhere.parted_3 is in another schema; the rows of that are not exported',
  ],
  ['shell type', 'undefined'],
  ['table', 'ancestor', withRows(needs('type elsewhere.hstore'))],
  ['table', 'base', 'its child table elsewhere.heir is in another schema; the rows of that are not exported'],
  ['table', 'descendant', withRows(needs('table ancestor'))],
  ['table', 'with_hidden_row_type', withRows(hidden('the row type of table path', 'table'))],
  ['table', 'with_hidden_type', withRows(hidden('type date', 'type'))],
  ['table', 'with_hstore', withRows(needs('type elsewhere.hstore'))],
]

test('everything that lines cannot describe is named, with the reason where it is not plain', () => {
  expect(structure.notExported.map(({ kind, name, detail }) => [kind, name, ...(detail ? [detail] : [])])).toEqual(
    EXPECTED,
  )
})

test('what is left can be built without it', async () => {
  const empty = await openStage(database.url, 'empty')
  await empty.build(toLines(structure))
  expect(toLines(await readStructure(empty.query, 'empty'))).toEqual(toLines(structure))
  await empty.end()
})
