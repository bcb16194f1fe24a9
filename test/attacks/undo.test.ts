import { beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { describeOnEachServer } from '../support/servers/each-server.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'

const THINGS = `CREATE TABLE thing (id integer PRIMARY KEY); INSERT INTO thing VALUES (1), (2)`

describeOnEachServer(
  (wharf) => {
    let archive: string

    beforeAll(async () => {
      await createProject(wharf(), 'victim', `CREATE TABLE secret (word text); INSERT INTO secret VALUES ('hidden')`)
      await createProject(wharf(), 'source', THINGS)
      archive = await exportOf(wharf().root, 'source')
    })

    /** A project with a kept schema, in whose table a policy of its own runs `code`. */
    async function withPolicy(slug: string, code: string): Promise<void> {
      await createProject(wharf(), slug, THINGS)
      await sendArchive(wharf().root, archive, { query: `?targetSlug=${slug}` })
      const [kept] = await wharf().database.query<{ name: string }>(
        `SELECT schema_name AS name FROM system.side_schema WHERE kind = 'kept' AND schema_name LIKE '${slug}.%'`,
      )
      await withSession((await loginUrl(wharf(), slug)).href, (client) =>
        client.query(`SET search_path = "${kept?.name}";
        CREATE FUNCTION look() RETURNS boolean LANGUAGE plpgsql AS $$ ${code} $$;
        ALTER TABLE thing ENABLE ROW LEVEL SECURITY; ALTER TABLE thing FORCE ROW LEVEL SECURITY;
        CREATE POLICY look ON thing USING (look())`),
      )
    }

    const undo = (slug: string) => wharf().root.post(`/projects/${slug}/stages/live/undo`)

    test("makes somebody's undo join every project", async () => {
      await withPolicy(
        'joiner',
        `BEGIN INSERT INTO control.role (id, project_id, name) SELECT gen_random_uuid(), id, 'mine' FROM control.project;
       RETURN true; END`,
      )
      expect(await undo('joiner')).toMatchObject({ status: 409, text: expect.stringContaining('permission denied') })
      expect(await wharf().database.query(`SELECT 1 FROM control.role WHERE name = 'mine'`)).toEqual([])
    })

    test("reads another project's rows through undo", async () => {
      await withPolicy('reader', `BEGIN PERFORM word FROM "victim.live".secret; RETURN true; END`)
      expect(await undo('reader')).toMatchObject({
        status: 409,
        text: expect.stringContaining('permission denied for schema victim.live'),
      })
    })

    test("becomes Wharf's login through undo", async () => {
      await withPolicy('becomer', `BEGIN RAISE EXCEPTION 'I am % and %', current_user, session_user; END`)
      const { username } = await loginUrl(wharf(), 'becomer')
      expect(await undo('becomer')).toMatchObject({
        status: 409,
        text: expect.stringContaining(`I am ${username} and ${username}`),
      })
    })

    test('counts rows for an undo as the project sees them, and gives them back', async () => {
      await withPolicy('honest', 'BEGIN RETURN false; END')
      expect(await undo('honest')).toMatchObject({ status: 200, json: { tables: [{ name: 'thing', rows: 0 }] } })
    })
  },
  { oneIsEnough: true },
)
