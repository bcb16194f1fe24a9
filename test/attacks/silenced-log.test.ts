import { beforeAll, expect, test } from 'vitest'
import { prepareDatabase } from '../../src/database/preparation.ts'
import { logStages } from '../../src/events/log-stages.ts'
import { createLogger } from '../../src/logger.ts'
import { operatorOf } from '../support/database/operator.ts'
import { describeOnEachServer } from '../support/servers/each-server.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'

const CALL = 'EXECUTE FUNCTION wharf.log_statement()'

/** What a project's own SQL can put in the place of the trigger that logs updates. */
const SILENCED: Readonly<Record<string, string>> = {
  'a condition that is never true': `CREATE TRIGGER wharf_update AFTER UPDATE ON item
    REFERENCING NEW TABLE AS wharf_changed FOR EACH STATEMENT WHEN (false) ${CALL}`,
  'one column only': `CREATE TRIGGER wharf_update AFTER UPDATE OF id ON item FOR EACH STATEMENT ${CALL}`,
  'another event': `CREATE TRIGGER wharf_update AFTER TRUNCATE ON item FOR EACH STATEMENT ${CALL}`,
  'each row': `CREATE TRIGGER wharf_update AFTER UPDATE ON item FOR EACH ROW WHEN (false) ${CALL}`,
  'rows under another name': `CREATE TRIGGER wharf_update AFTER UPDATE ON item
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (false) ${CALL}`,
  'a constraint that is put off': `CREATE CONSTRAINT TRIGGER wharf_update AFTER UPDATE ON item
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (false) ${CALL}`,
  'a function of its own': `CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER wharf_update AFTER UPDATE ON item FOR EACH STATEMENT EXECUTE FUNCTION quiet()`,
  'an argument': `CREATE TRIGGER wharf_update AFTER UPDATE ON item
    REFERENCING NEW TABLE AS wharf_changed FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION wharf.log_statement('x')`,
  'nothing at all': 'SELECT 1',
}

describeOnEachServer(
  (wharf) => {
    let made = 0

    beforeAll(() => logStages(wharf().container))

    test.each(Object.entries(SILENCED))("keeps others' caches stale through a trigger with %s", async (_, trigger) => {
      made += 1
      const slug = `shop${made}`
      const path = `/content/${slug}/live/item`
      await createProject(
        wharf(),
        slug,
        `CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item VALUES (1)`,
      )
      const before = (await wharf().root.get(path)).headers.etag ?? ''
      await withSession((await loginUrl(wharf(), slug)).href, async (client) => {
        await client.query(`SET search_path = "${slug}.live"; DROP TRIGGER wharf_update ON item; ${trigger}`)
        await client.query(`UPDATE item SET name = 'unseen'`)
        await logStages(wharf().container)
        const found = await wharf().root.get(path, { headers: { 'if-none-match': before } })
        expect(found).toMatchObject({ status: 200, json: [{ id: 1, name: 'unseen' }] })

        // Seen again: the next one is in the log.
        await client.query(`UPDATE item SET name = 'seen'`)
        const [event] = await wharf().database.query(
          `SELECT event.kind, rows::text FROM system.event JOIN system.stage_state USING (stage_id)
         WHERE schema_name = $1 ORDER BY transaction_id DESC, ordinal DESC LIMIT 1`,
          [`${slug}.live`],
        )
        expect(event).toMatchObject({ kind: 'update', rows: expect.stringContaining('seen') })
      })
    })

    test.each(['the database', "Wharf's login", "a project's login"])(
      'nothing starts where a superuser has silenced every trigger for %s, until the statement that is named has been run',
      async (whom) => {
        const { database } = wharf()
        made += 1
        const slug = `silenced${made}`
        await createProject(wharf(), slug)
        const name = new URL(database.url).pathname.slice(1)
        const targets: Readonly<Record<string, string>> = {
          'the database': `DATABASE ${name}`,
          "Wharf's login": `ROLE wharf IN DATABASE ${name}`,
          "a project's login": `ROLE ${(await loginUrl(wharf(), slug)).username}`,
        }
        const operator = operatorOf(database)
        const logger = createLogger('silent')
        await operator.run(`ALTER ${targets[whom]} SET session_replication_role = replica`)
        const failure: unknown = await prepareDatabase(database.url, { logger }).catch((error: unknown) => error)
        expect(failure).toMatchObject({ code: 'DATABASE_UNSUITABLE' })
        const [, remedy] = / as a superuser: (ALTER .*)$/.exec(String(failure)) ?? []
        await operator.run(remedy ?? '')
        await prepareDatabase(database.url, { logger })
      },
    )

    test('a look that finds every trigger as it should be changes no reference', async () => {
      await createProject(wharf(), 'quiet', 'CREATE TABLE item (id int PRIMARY KEY)')
      const before = (await wharf().root.get('/content/quiet/live/item')).headers.etag ?? ''
      await logStages(wharf().container)
      const answer = await wharf().root.get('/content/quiet/live/item', { headers: { 'if-none-match': before } })
      expect(answer.status).toBe(304)
    })
  },
  { oneIsEnough: true },
)
