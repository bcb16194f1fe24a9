import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
})

afterAll(() => wharf?.close())

/** Domains whose check reads a table that is loaded after theirs, which PostgreSQL does not know. */
const READING: Readonly<Record<string, RegExp>> = {
  sql: /relation "permitted" does not exist \(SQLSTATE 42P01\); where a check of a domain.* let a trigger check that/,
  plpgsql:
    /line \d+: column "id" of table "of_number".*23514 allowed_check, of domain allowed: a check that reads tables/,
}

test.for(Object.entries(READING))('a domain whose check in %s reads a table says so', async ([language, says]) => {
  const slug = `reads-${language}`
  const query = 'SELECT EXISTS (SELECT FROM permitted WHERE n = v)'
  const body = language === 'sql' ? query : `BEGIN RETURN (${query}); END`
  await createProject(
    wharf,
    slug,
    `CREATE TABLE permitted (n integer);
     INSERT INTO permitted VALUES (1);
     CREATE FUNCTION is_permitted(v integer) RETURNS boolean LANGUAGE ${language} STABLE AS $$ ${body} $$;
     CREATE DOMAIN allowed AS integer CHECK (is_permitted(VALUE));
     CREATE TABLE of_number (id allowed PRIMARY KEY);
     INSERT INTO of_number VALUES (1)`,
  )
  const answer = await sendArchive(wharf.root, await exportOf(wharf.root, slug))
  expect(answer).toMatchObject({ json: { detail: expect.stringMatching(says) } })
})
