import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(
    wharf,
    'press',
    `CREATE DOMAIN "image/svg+xml" AS text;
     CREATE DOMAIN "text/javascript" AS text;
     CREATE DOMAIN "text/x-names" AS text;
     CREATE DOMAIN "text/x-secret" AS text;
     CREATE DOMAIN "application/x-lines" AS text;
     CREATE DOMAIN "application/x-sum" AS bytea;
     CREATE DOMAIN "*/*" AS bytea;
     CREATE FUNCTION blob() RETURNS "*/*" IMMUTABLE LANGUAGE sql AS $$ SELECT '\\x0102'::"*/*" $$;
     CREATE DOMAIN shade AS integer;
     CREATE FUNCTION to_json(shade) RETURNS json IMMUTABLE LANGUAGE sql AS $$ SELECT to_json('#' || $1::text) $$;
     CREATE CAST (shade AS json) WITH FUNCTION to_json(shade) AS IMPLICIT;
     CREATE TABLE tree (id integer PRIMARY KEY, kind text);
     CREATE TABLE leaf (id integer PRIMARY KEY, name text, green shade, tree_id integer REFERENCES tree);
     INSERT INTO tree VALUES (1, 'oak');
     INSERT INTO leaf VALUES (1, 'old', 7, 1), (2, 'new', 9, NULL), (3, 'torn', NULL, 1);

     CREATE FUNCTION badge(label text) RETURNS "image/svg+xml" IMMUTABLE LANGUAGE sql AS
       $$ SELECT ('<svg><title>' || label || '</title></svg>')::"image/svg+xml" $$;
     CREATE FUNCTION badges() RETURNS SETOF "image/svg+xml" IMMUTABLE LANGUAGE sql AS $$ SELECT badge('one') $$;
     CREATE FUNCTION no_badge() RETURNS "image/svg+xml" IMMUTABLE LANGUAGE sql AS $$ SELECT NULL::"image/svg+xml" $$;
     CREATE FUNCTION sum() RETURNS "application/x-sum" IMMUTABLE LANGUAGE sql AS $$ SELECT '\\x00ff'::"application/x-sum" $$;
     CREATE FUNCTION script() RETURNS "text/javascript" IMMUTABLE LANGUAGE sql AS $$ SELECT 'alert(1)'::"text/javascript" $$;
     CREATE FUNCTION leaves() RETURNS SETOF leaf STABLE LANGUAGE sql AS $$ SELECT * FROM leaf $$;

     CREATE FUNCTION add_name(text, leaf) RETURNS "text/x-names" IMMUTABLE LANGUAGE sql AS
       $$ SELECT ($1 || $2.name || ' ' || COALESCE($2.green, 0) || E'\\n')::"text/x-names" $$;
     CREATE AGGREGATE names(leaf) (SFUNC = add_name, STYPE = "text/x-names", INITCOND = '');
     CREATE FUNCTION add_secret(text, leaf) RETURNS "text/x-secret" IMMUTABLE LANGUAGE sql AS $$ SELECT $1::"text/x-secret" $$;
     CREATE AGGREGATE secrets(leaf) (SFUNC = add_secret, STYPE = "text/x-secret", INITCOND = '');
     REVOKE EXECUTE ON FUNCTION secrets(leaf) FROM PUBLIC;
     CREATE FUNCTION add_line(text, anyelement) RETURNS "application/x-lines" LANGUAGE sql AS
       $$ SELECT ($1 || $2::text || E'\\n')::"application/x-lines" $$;
     CREATE AGGREGATE lines(anyelement) (SFUNC = add_line, STYPE = "application/x-lines", INITCOND = '');
     CREATE FUNCTION add_byte(bytea, tree) RETURNS "application/x-sum" IMMUTABLE LANGUAGE sql AS
       $$ SELECT ($1 || '\\x01')::"application/x-sum" $$;
     CREATE AGGREGATE bytes(tree) (SFUNC = add_byte, STYPE = "application/x-sum", INITCOND = '\\xff');`,
  )
})
afterAll(() => wharf.close())

const get = (path: string, accept: string, headers: Record<string, string> = {}) =>
  wharf.root.get(`/content/press/live/${path}`, { headers: { accept, ...headers } })

describe('a value of a domain that is called like a media type', () => {
  test('is given as it is to who asks for that type, and in JSON to others', async () => {
    const drawn = await get('rpc/badge?label=hot', 'image/svg+xml')
    expect(drawn).toMatchObject({ status: 200, text: '<svg><title>hot</title></svg>' })
    expect(drawn.headers).toMatchObject({ 'content-type': 'image/svg+xml', 'x-content-type-options': 'nosniff' })
    expect((await get('rpc/badge?label=hot', '*/*')).json).toBe('<svg><title>hot</title></svg>')
    const nothing = { status: 200, text: '', headers: { 'content-type': 'image/svg+xml' } }
    expect(await get('rpc/no_badge', 'image/svg+xml')).toMatchObject(nothing)
    expect([...(await get('rpc/sum', 'application/x-sum')).bytes]).toEqual([0, 255])
  })

  test.each(['*/*', 'application/json', 'image/png', 'text/csv'])(
    'is given to everybody where it stands for all types: %s',
    async (accept) => {
      const blob = await get('rpc/blob', accept)
      expect([...blob.bytes]).toEqual([1, 2])
      expect(blob.headers).toMatchObject({ 'content-type': 'application/octet-stream' })
    },
  )

  test.each([
    ['text/html, image/svg+xml, */*', 'image/svg+xml'],
    ['image/svg+xml;q=0.5, application/json', 'application/json; charset=utf-8'],
    ['text/html, application/xml;q=0.9, */*;q=0.8', 'application/json; charset=utf-8'],
  ])('is had in the form that the client likes best: %s', async (accept, type) => {
    expect((await get('rpc/badge?label=hot', accept)).headers).toMatchObject({ 'content-type': type })
  })

  test.each([
    ['of a set there is none', 'rpc/badges', 'image/svg+xml'],
    ['a function gives another', 'rpc/badge?label=hot', 'image/png'],
    ['a browser would run it in a page of the service', 'rpc/script', 'text/javascript'],
  ])('is not had where %s', async (_, path, accept) => {
    expect(await get(path, accept)).toMatchObject({ status: 406, json: { code: 'PGRST107' } })
  })
})

describe('an aggregate that gives such a domain', () => {
  test('makes an answer of the rows of its table, with their values as they are', async () => {
    const made = await get('leaf?id=gt.1&order=id.desc', 'text/x-names', { prefer: 'count=exact' })
    expect(made).toMatchObject({ status: 200, text: 'torn 0\nnew 9\n' })
    expect(made.headers).toMatchObject({ 'content-type': 'text/x-names', 'content-range': '0-1/2' })
    expect((await get('leaf?id=gt.9', 'text/x-names')).text).toBe('')
    expect([...(await get('tree', 'application/x-sum')).bytes]).toEqual([255, 1])
  })

  test('makes one of the rows of a function, too', async () => {
    expect((await get('rpc/leaves?name=eq.new', 'text/x-names')).text).toBe('new 9\n')
  })

  test('takes whatever is selected where it takes any rows', async () => {
    expect((await get('tree', 'application/x-lines')).text).toBe('(1,oak)\n')
    const chosen = await get('leaf?select=name,green,tree(kind)&id=eq.1', 'application/x-lines')
    expect(chosen.text).toBe('(old,"""#7""","{""kind"":""oak""}")\n')
    expect((await get('rpc/leaves?select=id', 'application/x-lines')).text).toBe('(1)\n(2)\n(3)\n')
  })

  test.each([
    ['its rows are not whole', 'leaf?select=id', 'text/x-names'],
    ['it is of another table', 'tree', 'text/x-names'],
    ['PUBLIC may not execute it', 'leaf', 'text/x-secret'],
  ])('makes none where %s', async (_, path, accept) => {
    expect(await get(path, accept)).toMatchObject({ status: 406, json: { code: 'PGRST107' } })
    expect((await get(path, `${accept}, text/csv;q=0.5`)).headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
    })
  })

  test('is called anew for each request where it is VOLATILE, and kept where it is not', async () => {
    const kept = await get('leaf', 'text/x-names')
    const reference = kept.headers['x-service-ref'] ?? ''
    expect((await get('leaf', 'text/x-names')).headers).toMatchObject({ 'x-cache': 'hit', 'x-service-ref': reference })
    expect((await get('leaf', 'text/x-names', { 'x-service-ref': reference })).status).toBe(304)
    expect((await get('leaf', 'application/x-lines', { 'x-service-ref': reference })).status).toBe(200)
    expect((await get('leaf', 'application/x-lines')).headers).toMatchObject({ 'x-cache': 'miss' })
  })

  test('makes no answer of what a write shows', async () => {
    const headers = { accept: 'text/x-names', prefer: 'return=representation' }
    const answer = await wharf.root.post('/content/press/live/leaf', { json: { id: 9 }, headers })
    expect(answer).toMatchObject({ status: 406 })
    expect((await get('leaf?id=eq.9', '*/*')).json).toEqual([])
  })
})
