import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { chooseServerUser } from '../../src/database/embedded/server-user.ts'
import { comparableLines, exportOf, sendArchive } from '../support/archives/import.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, askImport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { withSession } from '../support/servers/sessions.ts'
import { leftAfterSweep, nothingIsLeft } from '../support/service/leftovers.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { mayMount, mountSmallDisk, type SmallDisk } from './small-disk.ts'

/*
 * A database on a disk that is really full: a small one, which only a process with the rights of an administrator can
 * mount. Elsewhere these tests are left out; `database-errors.test.ts` has the server say the same.
 */

const programs = installedPrograms()

/** Room for a database with Wharf's tables, and little more. */
const DISK_MEBIBYTES = 96

/** What records of jobs need, and much less than what is imported here. */
const LEFT_BYTES = 512 * 1024

const TABLE = 'CREATE TABLE item (id int PRIMARY KEY, text text); ALTER TABLE item ALTER text SET STORAGE EXTERNAL'

/** Rows of six mebibytes. */
const ROWS = `INSERT INTO item SELECT id, repeat(md5(id::text), 100) FROM pg_catalog.generate_series(1, 2000) id`

const FULL = { status: 507, json: { type: 'urn:wharf:error:storage-full' } }

describe.runIf(programs !== undefined && mayMount())(
  'on a disk that is full (left out where none can be mounted)',
  () => {
    let disk: SmallDisk
    let cluster: OwnCluster
    let wharf: TestWharf
    let archive: string

    beforeAll(async () => {
      disk = await mountSmallDisk(DISK_MEBIBYTES, await chooseServerUser(''))
      cluster = await startOwnCluster(programs ?? '')
      const database = await cluster.createDatabase()
      const name = new URL(database.url).pathname.slice(1)
      await withSession(cluster.superuserUrl, async (session) => {
        await session.query(`CREATE TABLESPACE small LOCATION '${disk.path}'`)
        await session.query(`ALTER DATABASE ${name} SET TABLESPACE small`)
      })
      wharf = await startWharf({ database, worker: true, environment: { WHARF_UNDO_HOURS: '0' } })
      await createProject(wharf, 'shop', `${TABLE}; ${ROWS}`)
      archive = await exportOf(wharf.root, 'shop')
      // One that has filled all that there is to fill once: catalogs, the log, records of jobs.
      expect(await sendArchive(wharf.root, archive)).toMatchObject({ status: 200 })
    })

    beforeEach(async () => {
      // What an import has replaced goes after its answer, and would make room meanwhile.
      await eventually(async () => (await leftAfterSweep(wharf)).schemas).toEqual([])
      await withSession(cluster.superuserUrl, (session) => session.query('CHECKPOINT'))
      await disk.fill(LEFT_BYTES)
    })
    afterEach(() => disk.free())

    afterAll(async () => {
      await wharf?.close()
      await cluster?.remove()
      await disk?.remove()
    })

    const expectUnchanged = async (): Promise<void> => {
      await disk.free()
      await nothingIsLeft(wharf)
      expect(comparableLines(await exportOf(wharf.root, 'shop'))).toEqual(comparableLines(archive))
      expect(await sendArchive(wharf.root, archive)).toMatchObject({ status: 200 })
    }

    test('an import is told so, changes nothing, and goes well when there is room', async () => {
      expect(await sendArchive(wharf.root, archive)).toMatchObject(FULL)
      await expectUnchanged()
    })

    test('an import job fails with that reason, and leaves nothing', async () => {
      const job = await untilEnded(wharf.root, jobOf(await askImport(wharf.root, archive)))
      expect(job).toMatchObject({ status: 'failed', error: { code: 'STORAGE_FULL' } })
      await expectUnchanged()
    })

    test('a change of structure is told so, and changes nothing', async () => {
      const script = `ALTER TABLE item ADD other text; UPDATE item SET other = text`
      expect(await applyScript(wharf, 'shop', script)).toMatchObject(FULL)
      await expectUnchanged()
    })

    test('a write of rows is told so, and changes nothing', async () => {
      await disk.fill(0)
      const json = Array.from({ length: 200 }, (_, index) => ({ id: 10_000 + index, text: 'x'.repeat(4_000) }))
      expect(await wharf.root.post('/content/shop/live/item', { json })).toMatchObject(FULL)
      await expectUnchanged()
    })

    test('rows are read and exported, also as a job', async () => {
      expect(await wharf.root.get('/content/shop/live/item?select=id&id=lt.3')).toMatchObject({
        json: [{ id: 1 }, { id: 2 }],
      })
      expect(comparableLines(await exportOf(wharf.root, 'shop'))).toEqual(comparableLines(archive))
      const job = await untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug: 'shop' }])))
      expect(job).toMatchObject({ status: 'succeeded' })
    })

    test('the service goes on, and is ready', async () => {
      await eventually(async () => (await wharf.root.get('/readyz')).status).toBe(200)
    })
  },
)
