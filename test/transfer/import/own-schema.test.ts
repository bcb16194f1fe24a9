import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** A function that says by name in which schema it looks, as dumps of other databases have them. */
const STRUCTURE = `
  CREATE TABLE book (id integer PRIMARY KEY);
  DO $$ BEGIN EXECUTE format('CREATE FUNCTION books() RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = %I, pg_temp
    AS %L', current_schema(), 'BEGIN RETURN (SELECT count(*) FROM book); END'); END $$;
  CREATE MATERIALIZED VIEW counted AS SELECT books() AS books;`

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'source', `${STRUCTURE} INSERT INTO book SELECT generate_series(1, 3)`)
  await createProject(wharf, 'target', `${STRUCTURE} INSERT INTO book VALUES (1)`)
  await createProject(wharf, 'empty')
})

afterAll(() => wharf.close())

test.each(['target', 'empty'])('a function that names its own schema looks into that of the %s', async (slug) => {
  // Filled with nothing yet: what an import fills it with are the rows that come.
  const archive = (await exportOf(wharf.root, 'source')).replace('"populated":false', '"populated":true')
  expect(archive).not.toContain('source.live')
  expect(await sendArchive(wharf.root, archive, { query: `?targetSlug=${slug}` })).toMatchObject({ status: 200 })
  const counted = (sql: string) => wharf.database.query(`SELECT books::int AS n FROM ${sql}`)
  expect(await counted(`"${slug}.live".counted`)).toEqual([{ n: 3 }])
  expect(await counted(`"${slug}.live".books() AS books`)).toEqual([{ n: 3 }])
})
