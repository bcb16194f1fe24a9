import { afterAll, beforeAll, expect, test } from 'vitest'
import { readStructure, type StageStructure, toLines } from '../../../src/transfer/structure/read-structure.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'
import { openStage, type StageSession } from '../../support/database/stage-session.ts'
import { withSession } from '../../support/servers/sessions.ts'

/** PostgreSQL quotes it where it identifies an object. */
const SCHEMA = 'The stage'

let database: TestDatabase
let stage: StageSession
let structure: StageStructure

beforeAll(async () => {
  database = await createTestDatabase()
  stage = await openStage(database.url, SCHEMA)
  await withSession(database.superuserUrl, async (client) => {
    for (const name of ['citext', 'cube', 'pg_stat_statements'])
      await client.query(`CREATE EXTENSION ${name} SCHEMA "${SCHEMA}"`)
  })
  await stage.run([
    'CREATE TABLE person (name citext, at cube[], UNIQUE (name))',
    'CREATE VIEW shouting AS SELECT upper(name::text)::citext AS name FROM person',
    'CREATE FUNCTION distance(a cube, b cube) RETURNS float8 LANGUAGE sql AS $$SELECT cube_distance(a, b)$$',
  ])
  structure = await readStructure(stage.query, SCHEMA)
})

afterAll(async () => {
  await stage?.end()
  await database?.drop()
})

test('what extensions have in the schema itself is used as what they have elsewhere, and is nothing of the stage', () => {
  expect(structure.notExported).toEqual([])
  expect(structure.inOrder.map(({ line }) => line.content)).toMatchObject([
    { name: 'distance' },
    { name: 'person' },
    { name: 'shouting' },
  ])
  expect(toLines(structure).extensions.map(({ name, schema }) => ({ name, schema }))).toEqual([
    { name: 'citext', schema: 'extensions' },
    { name: 'cube', schema: 'extensions' },
  ])
})

test('it is known which extensions would go with the schema', () => {
  expect(structure.extensionsInside).toEqual(['citext', 'cube', 'pg_stat_statements'])
})
