import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf()
  const shop = await readFile(new URL('../fixtures/record-shop.sql', import.meta.url), 'utf8')
  await createProject(
    wharf,
    'shop',
    `${shop};
     CREATE TABLE made (id integer GENERATED ALWAYS AS IDENTITY, once integer, twice integer GENERATED ALWAYS AS (2 * once) STORED);
     CREATE FUNCTION greet(name text) RETURNS text LANGUAGE sql AS $$ SELECT name $$;
     CREATE FUNCTION add_all(a integer, b integer) RETURNS integer LANGUAGE sql AS $$ SELECT a + b $$;
     CREATE FUNCTION add_all(a integer, b integer, c integer) RETURNS integer LANGUAGE sql AS $$ SELECT a + b + c $$;
     CREATE FUNCTION take_number(integer) RETURNS integer LANGUAGE sql AS $$ SELECT $1 $$;
     CREATE FUNCTION take_text(text) RETURNS text LANGUAGE sql AS $$ SELECT $1 $$;
     CREATE FUNCTION either(arg integer) RETURNS integer LANGUAGE sql AS $$ SELECT arg $$;
     CREATE FUNCTION either(arg text, num integer DEFAULT 0) RETURNS text LANGUAGE sql AS $$ SELECT arg $$;
     CREATE FUNCTION forget() RETURNS void LANGUAGE sql AS $$ SELECT $$;`,
  )
})
afterAll(() => wharf.close())

interface Said {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly details?: unknown
  readonly hint?: string
}

const answers = async (path: string, headers: Readonly<Record<string, string>>, said: Said): Promise<void> => {
  const answer = await wharf.root.get(`/content/shop/live/${path}`, { headers })
  const { code, message, details, hint } = answer.json as Said
  expect({ status: answer.status, code, message, details, hint }).toEqual({ details: null, hint: null, ...said })
}

test.for<[string, Said]>([
  [
    'albun',
    {
      status: 404,
      code: 'PGRST205',
      message: "Could not find the table 'live.albun' in the schema cache",
      hint: "Perhaps you meant the table 'live.album'",
    },
  ],
  ['alxxx', { status: 404, code: 'PGRST205', message: "Could not find the table 'live.alxxx' in the schema cache" }],
  ['album/1/title', { status: 404, code: 'PGRST125', message: 'Invalid path specified in request URL' }],
  [
    'album?select=title,artist_names(name)',
    {
      status: 400,
      code: 'PGRST200',
      message: "Could not find a relationship between 'album' and 'artist_names' in the schema cache",
      details:
        "Searched for a foreign key relationship between 'album' and 'artist_names' in the schema 'live', but no matches were found.",
      hint: "Perhaps you meant 'artist' instead of 'artist_names'.",
    },
  ],
  [
    'artist?select=data->>a->1',
    {
      status: 400,
      code: '42883',
      message: 'operator does not exist: text -> integer',
      hint: 'No operator matches the given name and argument types. You might need to add explicit type casts.',
    },
  ],
  [
    'album?year=like.19*',
    {
      status: 400,
      code: '42883',
      message: 'operator does not exist: integer ~~ unknown',
      hint: 'No operator matches the given name and argument types. You might need to add explicit type casts.',
    },
  ],
  [
    'artist?select=name,albums(title)',
    {
      status: 400,
      code: 'PGRST200',
      message: "Could not find a relationship between 'artist' and 'albums' in the schema cache",
      details:
        "Searched for a foreign key relationship between 'artist' and 'albums' in the schema 'live', but no matches were found.",
      hint: "Perhaps you meant 'album' instead of 'albums'.",
    },
  ],
  [
    'album?select=title,artist!price(name)',
    {
      status: 400,
      code: 'PGRST200',
      message: "Could not find a relationship between 'album' and 'artist' in the schema cache",
      details:
        "Searched for a foreign key relationship between 'album' and 'artist' using the hint 'price' in the schema 'live', but no matches were found.",
    },
  ],
  [
    'artist?select=name,album(title)',
    {
      status: 300,
      code: 'PGRST201',
      message: "Could not embed because more than one relationship was found for 'artist' and 'album'",
      details: [
        {
          cardinality: 'one-to-many',
          relationship: 'album_artist_id_fkey using artist(id) and album(artist_id)',
          embedding: 'artist with album',
        },
        {
          cardinality: 'one-to-many',
          relationship: 'album_producer using artist(id) and album(producer_id)',
          embedding: 'artist with album',
        },
      ],
      hint: "Try changing 'album' to one of the following: 'album!album_artist_id_fkey', 'album!album_producer'. Find the desired relationship in the 'details' key.",
    },
  ],
  [
    'album?track.title=eq.Thaw',
    {
      status: 400,
      code: 'PGRST108',
      message: "'track' is not an embedded resource in this request",
      hint: "Verify that 'track' is included in the 'select' query parameter.",
    },
  ],
  [
    'album?select=title,track(title)&order=track(title)',
    {
      status: 400,
      code: 'PGRST118',
      message: "A related order on 'track' is not possible",
      details: "'album' and 'track' do not form a many-to-one or one-to-one relationship",
    },
  ],
  [
    'album?select=title,...track(seconds.sum())',
    {
      status: 400,
      code: 'PGRST127',
      message: 'Feature not implemented',
      details: 'Aggregates are not implemented for one-to-many or many-to-many spreads.',
    },
  ],
  ['album?select=colour', { status: 400, code: '42703', message: 'column album.colour does not exist' }],
  ['album?select=year::colour', { status: 400, code: '42704', message: 'type "colour" does not exist' }],
  ['album?year=eq.soon', { status: 400, code: '22P02', message: 'invalid input syntax for type integer: "soon"' }],
  [
    'artist?data->a=eq.{',
    {
      status: 400,
      code: '22P02',
      message: 'invalid input syntax for type json',
      details: 'The input string ended unexpectedly.',
    },
  ],
])('an error of a query is in the words of PostgREST, or of PostgreSQL: %s', ([path, said]) => answers(path, {}, said))

test.for<[string, Readonly<Record<string, string>>, Said]>([
  [
    'album',
    { accept: 'application/vnd.pgrst.object+json' },
    {
      status: 406,
      code: 'PGRST116',
      message: 'Cannot coerce the result to a single JSON object',
      details: 'The result contains 4 rows',
    },
  ],
  [
    'album',
    { accept: 'text/html' },
    { status: 406, code: 'PGRST107', message: 'None of these media types are available: text/html' },
  ],
  [
    'album?offset=9',
    { prefer: 'count=exact' },
    {
      status: 416,
      code: 'PGRST103',
      message: 'Requested range not satisfiable',
      details: 'An offset of 9 was requested, but there are only 4 rows.',
    },
  ],
  [
    'album',
    { range: '3-1' },
    {
      status: 416,
      code: 'PGRST103',
      message: 'Requested range not satisfiable',
      details: 'The lower boundary must be lower than or equal to the upper boundary in the Range header.',
    },
  ],
  [
    'album?limit=-1',
    {},
    {
      status: 416,
      code: 'PGRST103',
      message: 'Requested range not satisfiable',
      details: 'Limit should be greater than or equal to zero.',
    },
  ],
  [
    'album',
    { prefer: 'handling=strict, timezone=Nowhere, whatever' },
    {
      status: 400,
      code: 'PGRST122',
      message: 'Invalid preferences given with handling=strict',
      details: 'Invalid preferences: timezone=Nowhere, whatever',
    },
  ],
  [
    'album',
    { 'accept-profile': 'elsewhere' },
    { status: 406, code: 'PGRST106', message: 'The schema must be one of the following: live' },
  ],
])('and so is one of headers: %s with %j', ([path, headers, said]) => answers(path, headers, said))

const PAIR = [{ id: 5 }, { id: 6, name: 'Ida' }]

test.for<[string, string, unknown, Said]>([
  ['POST', 'artist', '}{', { status: 400, code: 'PGRST102', message: 'Empty or invalid json' }],
  ['POST', 'artist', '', { status: 400, code: 'PGRST102', message: 'Empty or invalid json' }],
  ['PATCH', 'artist?id=eq.1', '', { status: 400, code: 'PGRST102', message: 'Empty or invalid json' }],
  ['POST', 'artist', PAIR, { status: 400, code: 'PGRST102', message: 'All object keys must match' }],
  ['POST', 'artist', [{ id: 5 }, 7], { status: 400, code: 'PGRST102', message: 'All object keys must match' }],
  [
    'POST',
    'artist',
    { id: 5, label: 'x' },
    { status: 400, code: 'PGRST204', message: "Could not find the 'label' column of 'artist' in the schema cache" },
  ],
  [
    'PATCH',
    'artist?id=eq.1&columns=label',
    { name: 'x' },
    { status: 400, code: 'PGRST204', message: "Could not find the 'label' column of 'artist' in the schema cache" },
  ],
  [
    'POST',
    'made',
    { twice: 5 },
    {
      status: 400,
      code: '428C9',
      message: 'cannot insert a non-DEFAULT value into column "twice"',
      details: 'Column "twice" is a generated column.',
    },
  ],
  [
    'PATCH',
    'made?once=eq.1&columns=id',
    { id: 5 },
    {
      status: 400,
      code: '428C9',
      message: 'column "id" can only be updated to DEFAULT',
      details: 'Column "id" is an identity column defined as GENERATED ALWAYS.',
    },
  ],
  [
    'PUT',
    'artist?id=eq.9&limit=1',
    { id: 9 },
    { status: 400, code: 'PGRST114', message: 'limit/offset querystring parameters are not allowed for PUT' },
  ],
  [
    'PUT',
    'artist?id=eq.9',
    { id: 8, name: 'Ida' },
    { status: 400, code: 'PGRST115', message: 'Payload values do not match URL in primary key column(s)' },
  ],
])('and of writes: %s %s of %j', async ([method, path, body, said]) => {
  const sent = typeof body === 'string' ? { body } : { json: body }
  const answer = await wharf.root.request(method, `/content/shop/live/${path}`, sent)
  const { code, message, details, hint } = answer.json as Said
  expect({ status: answer.status, code, message, details, hint }).toEqual({ details: null, hint: null, ...said })
})

test('and of CSV whose lines differ', async () => {
  const answer = await wharf.root.post('/content/shop/live/artist', {
    headers: { 'content-type': 'text/csv' },
    body: 'id,name\n5,Ida\n6',
  })
  const message = 'All lines must have same number of fields'
  expect(answer).toMatchObject({ status: 400, json: { code: 'PGRST102', message, details: null } })
})

const notFound = (message: string, details: string, hint?: string): Said => ({
  status: 404,
  code: 'PGRST202',
  message: `Could not find the function live.${message} in the schema cache`,
  details: `Searched for the function live.${details}, but no matches were found in the schema cache.`,
  ...(hint !== undefined && { hint: `Perhaps you meant to call the function live.${hint}` }),
})

const FREE = { 'content-type': 'text/plain' }
const JSON_BODY = { 'content-type': 'application/json' }

test.for<[string, string, Readonly<Record<string, string>>, string | undefined, Said]>([
  ['GET', 'gret', {}, undefined, notFound('gret without parameters', 'gret without parameters', 'greet')],
  [
    'GET',
    'nothing_like_it',
    {},
    undefined,
    notFound('nothing_like_it without parameters', 'nothing_like_it without parameters'),
  ],
  ['GET', 'greet?nam=Ida', {}, undefined, notFound('greet(nam)', 'greet with parameter nam', 'greet(name)')],
  ['GET', 'greet?colour=red', {}, undefined, notFound('greet(colour)', 'greet with parameter colour')],
  [
    'GET',
    'add_all?b=2&d=4&a=1',
    {},
    undefined,
    notFound('add_all(a, b, d)', 'add_all with parameters a, b, d', 'add_all(a, b, c)'),
  ],
  [
    'POST',
    'take_number',
    JSON_BODY,
    '{"x":1,"y":2}',
    notFound('take_number(x, y)', 'take_number with parameters x, y or with a single unnamed json/jsonb parameter'),
  ],
  ['POST', 'take_number', FREE, 'x', notFound('take_number', 'take_number with a single unnamed text parameter')],
  [
    'POST',
    'take_next',
    JSON_BODY,
    '{}',
    notFound(
      'take_next without parameters',
      'take_next without parameters or with a single unnamed json/jsonb parameter',
      'take_text',
    ),
  ],
  [
    'GET',
    'either?arg=1',
    {},
    undefined,
    {
      status: 300,
      code: 'PGRST203',
      message:
        'Could not choose the best candidate function between: live.either(arg => integer), live.either(arg => text, num => integer)',
      hint: 'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
    },
  ],
  [
    'POST',
    'forget',
    { prefer: 'max-affected=1' },
    '',
    {
      status: 400,
      code: 'PGRST128',
      message: 'Function must return SETOF or TABLE when max-affected preference is used with handling=strict',
    },
  ],
  [
    'GET',
    'greet?name=Ida',
    { accept: 'text/xml' },
    undefined,
    { status: 406, code: 'PGRST107', message: 'None of these media types are available: text/xml' },
  ],
])('and of calls: %s rpc/%s', async ([method, path, headers, body, said]) => {
  const sent = { headers, ...(body !== undefined && { body }) }
  const answer = await wharf.root.request(method, `/content/shop/live/rpc/${path}`, sent)
  const { code, message, details, hint } = answer.json as Said
  expect({ status: answer.status, code, message, details, hint }).toEqual({ details: null, hint: null, ...said })
})

test('where a key is there already, who may read is told its values, and no others', async () => {
  const answer = await wharf.root.post('/content/shop/live/artist', { json: { id: 1, name: 'Secret' } })
  expect(answer).toMatchObject({
    status: 409,
    json: {
      code: '23505',
      message: 'duplicate key value violates unique constraint "artist_pkey"',
      details: 'Key (id)=(1) already exists.',
    },
  })
  expect(answer.text).not.toContain('Secret')
})

test('where a write breaks a rule, who may not read is told no value of the row', async () => {
  await wharf.root.put('/projects/shop/roles/writer', { json: { content: { write: true } } })
  const { token } = await createToken(wharf, 'writer', 'shop')
  const answer = await wharf.root
    .withToken(token)
    .post('/content/shop/live/artist', { json: { id: 1, name: 'Secret' } })
  expect(answer).toMatchObject({ status: 409, json: { code: '23505' } })
  expect(answer.text).not.toMatch(/Secret|\(1\)/)
})
