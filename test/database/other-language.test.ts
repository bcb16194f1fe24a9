import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installedPrograms, speaksGerman } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * A server whose messages are in another language than those that Wharf's authors read.
 */

const programs = installedPrograms()

describe.runIf(programs !== undefined && speaksGerman(programs))('on a PostgreSQL that speaks German', () => {
  let cluster: OwnCluster
  let wharf: TestWharf

  beforeAll(async () => {
    // The locale `C` alone would be English, whatever the environment says.
    const german = { settings: { lc_messages: 'C.UTF-8' }, environment: { LANGUAGE: 'de' } }
    cluster = await startOwnCluster(programs ?? '', german)
    wharf = await startWharf({ database: await cluster.createDatabase() })
    await createProject(wharf, 'shop', 'CREATE TABLE item (id int PRIMARY KEY, name text)')
  })

  afterAll(async () => {
    await wharf?.close()
    await cluster?.remove()
  })

  test('what PostgreSQL says of a script is in its language', async () => {
    const answer = await applyScript(wharf, 'shop', 'SELECT 1/0')
    expect(answer).toMatchObject({ status: 422, json: { detail: 'nothing was changed: line 1: Division durch Null' } })
  })

  test.for([
    ['a row of COPY', 'CREATE TABLE t9 (n int);\nCOPY t9 FROM stdin;\n1\nx\n\\.\n', 4],
    [
      'an INSERT among others',
      'CREATE TABLE t9 (n int UNIQUE);\nINSERT INTO t9\nVALUES (1);\nINSERT INTO t9 VALUES (1);',
      4,
    ],
  ] as const)('the line of %s is found in what it says', async ([, script, line]) => {
    expect(await applyScript(wharf, 'shop', script)).toMatchObject({ status: 422, json: { errors: [{ line }] } })
  })

  test.each([
    'BEGIN; CREATE TABLE a (n int); END',
    'CREATE TABLE a (n int); COMMIT',
    'SAVEPOINT a',
    'DO $$ BEGIN COMMIT; END $$',
    `DO $$ BEGIN EXECUTE 'COMMIT'; END $$`,
  ])('a script is told to leave transactions out: %s', async (script) => {
    const answer = await applyScript(wharf, 'shop', script)
    expect(answer.status).toBe(422)
    expect(answer.text).toContain('leave BEGIN, COMMIT and ROLLBACK out')
  })

  test.each(['COPY item FROM stdin', 'COPY item TO stdout'])(
    'a script that talks to the client is not told so: %s',
    async (script) => {
      const answer = await applyScript(wharf, 'shop', script)
      expect(answer.status).toBe(422)
      expect(answer.text).not.toContain('leave BEGIN, COMMIT and ROLLBACK out')
    },
  )

  test('a search that is malformed is a fault of the request', async () => {
    expect(await wharf.root.get('/content/shop/live/item?name=fts.a%20b')).toMatchObject({ status: 400 })
  })
})
