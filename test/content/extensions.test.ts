import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(
    wharf,
    'people',
    `CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE EXTENSION intarray;
     CREATE TABLE person (name citext PRIMARY KEY, tags hstore, path ltree, numbers integer[],
       folded text GENERATED ALWAYS AS (lower(name::text)) STORED);
     INSERT INTO person VALUES ('Ada', 'a=>1, b=>NULL', 'top.left', '{1,2}'), ('Bob', 'a=>2', 'top', '{NULL,3}'),
       ('Eve', NULL, NULL, NULL);
     CREATE VIEW ada AS SELECT name FROM person WHERE name = 'ADA';`,
  )
  await createProject(wharf, 'plain', `CREATE TABLE t (n integer[]); INSERT INTO t VALUES ('{1,NULL}'), ('{2}')`)
})
afterAll(() => wharf?.close())

const PERSON = '/content/people/live/person'

const names = async (query: string): Promise<unknown> => {
  const answer = await wharf.root.get(`${PERSON}?select=name&order=name&${query}`)
  return answer.status === 200 ? answer.json : answer.text
}

test.for([
  ['name=eq.ADA', ['Ada']],
  ['name=in.(ada,EVE)', ['Ada', 'Eve']],
  ['name=neq.ada', ['Bob', 'Eve']],
  ['name=eq(any).{ADA,bOB}', ['Ada', 'Bob']],
  ['name=like.a*', ['Ada']],
  ['name=ilike.*B*', ['Bob']],
  ['name=gt.bob', ['Eve']],
  ['name=match.^b', ['Bob']],
  ['name=fts.ada', ['Ada']],
  ['tags=cs.a=>1', ['Ada']],
  ['tags=cd.a=>2,c=>3', ['Bob']],
  ['tags=eq.a=>2', ['Bob']],
  ['path=cd.top', ['Ada', 'Bob']],
  ['path=eq.top', ['Bob']],
  ['path=match.top.*{1}', ['Ada']],
  ['path=not.match.*.left', ['Bob']],
  ['numbers=cs.{3}', ['Bob']],
  ['numbers=ov.{1,3}', ['Ada', 'Bob']],
  ['and=(name.eq.ADA,tags.cs."a=>1")', ['Ada']],
] as const)('a query has the operators of extensions: %s', async ([query, expected]) => {
  expect(await names(query)).toEqual(expected.map((name) => ({ name })))
})

test('rows have the values of such types, and a view is what it was made as', async () => {
  expect((await wharf.root.get(`${PERSON}?name=eq.ada`)).json).toEqual([
    { name: 'Ada', tags: { a: '1', b: null }, path: 'top.left', numbers: [1, 2], folded: 'ada' },
  ])
  expect((await wharf.root.get('/content/people/live/ada')).json).toEqual([{ name: 'Ada' }])
  const csv = await wharf.root.get(`${PERSON}?select=tags&name=eq.ada`, { headers: { accept: 'text/csv' } })
  expect(csv.text).toBe('tags\n"""a""=>""1"", ""b""=>NULL"')
})

test('rows are written, merged by a key of such a type, and told apart from an answer that is still right', async () => {
  const before = await wharf.root.get(`${PERSON}?name=eq.zoe`)
  expect(before.json).toEqual([])
  const etag = before.headers.etag ?? ''
  const headers = { 'if-none-match': etag }
  expect((await wharf.root.get(`${PERSON}?name=eq.zoe`, { headers })).status).toBe(304)
  const inserted = await wharf.root.post(PERSON, { json: { name: 'Zoe', tags: '"a"=>"3"', path: 'top.right' } })
  expect(inserted.status, inserted.text).toBe(201)
  expect((await wharf.root.get(`${PERSON}?name=eq.zoe`, { headers })).json).toMatchObject([{ tags: { a: '3' } }])
  const merged = await wharf.root.post(PERSON, {
    json: { name: 'ZOE', path: 'top' },
    headers: { prefer: 'resolution=merge-duplicates' },
  })
  expect(merged.status, merged.text).toBe(200)
  expect((await wharf.root.patch(`${PERSON}?name=eq.zOe`, { json: { numbers: [7] } })).status).toBe(204)
  expect((await wharf.root.get(`${PERSON}?name=eq.zoe`)).json).toMatchObject([{ path: 'top', numbers: [7] }])
  expect((await wharf.root.delete(`${PERSON}?name=eq.ZOE&tags=cs.a=>3`)).status).toBe(204)
  expect((await wharf.root.get(`${PERSON}?name=eq.zoe`)).json).toEqual([])
})

test("what a project had made of an extension does not take the path of PostgreSQL's own for others", async () => {
  expect((await wharf.root.get('/content/plain/live/t?n=cs.{1}')).json).toEqual([{ n: [1, null] }])
})
