import { afterAll, beforeAll, expect, test } from 'vitest'
import { stillLocked } from '../../src/projects/lock-owners.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { query } from '../support/servers/sessions.ts'

const programs = installedPrograms()

let cluster: OwnCluster

beforeAll(async () => {
  if (programs) cluster = await startOwnCluster(programs, { settings: { max_prepared_transactions: '1' } })
})
afterAll(() => cluster?.remove())

test.skipIf(!programs)('a prepared transaction that holds a table is named, with what ends it', async () => {
  const url = cluster.superuserUrl
  await query(url, 'CREATE TABLE item (id int)')
  await query(url, `BEGIN; LOCK TABLE item; PREPARE TRANSACTION 'left behind'`)
  const what = { schemaName: 'public', what: 'nothing was changed', cause: undefined }
  const failure = await stillLocked((sql, parameters) => query(url, sql, parameters), what)
  await query(url, `ROLLBACK PREPARED 'left behind'`)
  expect(failure.message).toMatch(
    /^nothing was changed: table "item" has been in use for \d+ s by the prepared transaction "left behind", which COMMIT PREPARED or ROLLBACK PREPARED ends; try again/,
  )
})
