import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FUNCTION_SHOP, RPC } from '../support/content/functions.ts'
import { noTransactionStaysOpen } from '../support/database/transactions.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_QUERY_TIMEOUT_MS: '2000', WHARF_MAX_ROWS: '50' } })
  await createProject(wharf, 'shop', FUNCTION_SHOP)
})
afterAll(() => wharf.close())

const get = (call: string, headers: Record<string, string> = {}) => wharf.root.get(`${RPC}/${call}`, { headers })
const post = (call: string, json: unknown = {}, headers: Record<string, string> = {}) =>
  wharf.root.post(`${RPC}/${call}`, { json, headers })
const send = (call: string, type: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  wharf.root.post(`${RPC}/${call}`, { body, headers: { 'content-type': type, ...headers } })

describe('what a function returns', () => {
  test.for([
    ['add_them?a=3&b=4', '7'],
    ['hello?name=world', '"Hello, world"'],
    ['numbers', '[1,2,3]'],
    ['counted?upto=3', '[1, 2, 3]'],
    ['counted?upto=0', '[]'],
    ['nothing', 'null'],
    ['origin', '{"x":10,"y":5}'],
    ['moody?how=sad', '"sad"'],
    ['doubled?val=4', '8'],
    ['as_json', '{"n": 12345678901234567890}'],
    ['any_record', '{"id":1,"title":"Cold","year":1975,"artist_id":1}'],
    ['record_rows', '[{"id":1,"title":"Cold"}, {"id":2,"title":"Warm"}]'],
    ['out_one?num=5', '{"plus_one":6}'],
    ['inout_two?num=1', '{"num":2,"str":"none"}'],
    ['as_table', '[{"a":"A","b":1}, {"a":"B","b":2}]'],
    ['an_album?id=2', '{"id":2,"title":"Warm","year":1979,"artist_id":1}'],
  ] as const)('GET %s gives %s', async ([call, expected]) => {
    const answer = await get(call)
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
    expect(answer.text.replaceAll(/,\s+/g, ',')).toBe(expected.replaceAll(/,\s+/g, ','))
  })

  test.each([
    ['', ['Cold', 'Ice']],
    ['&first_album.year=gt.1976', ['Warm', 'Ice']],
    ['&first_album.limit=5', ['Cold', 'Ice']],
    ['&first_album.offset=1', ['Warm', 'Salt']],
  ])('of a function that is declared to give one related row, one is embedded: %s', async (query, titles) => {
    const [ada, bo] = titles
    const artists = await wharf.root.get(`/content/shop/live/artist?select=name,first_album(title)&order=id${query}`)
    expect(artists.json).toEqual([
      { name: 'Ada', first_album: { title: ada } },
      { name: 'Bo', first_album: { title: bo } },
    ])
    const spread = `/content/shop/live/artist?select=name,...first_album!inner(title)&order=id${query}`
    expect((await wharf.root.get(spread)).json).toEqual([
      { name: 'Ada', title: ada },
      { name: 'Bo', title: bo },
    ])
  })

  test('void is an answer without a body, by GET and by POST', async () => {
    for (const answer of [await get('stable_nothing'), await post('writes_nothing')]) {
      expect(answer).toMatchObject({ status: 204, text: '' })
      expect(answer.headers).not.toHaveProperty('content-type')
    }
  })

  test('rows of a table are selected, filtered, ordered, cut and embedded like those of the table', async () => {
    const query = 'albums?select=title,artist(name)&year=gt.1975&order=year.desc&limit=2'
    const expected = [
      { title: 'Ice', artist: { name: 'Bo' } },
      { title: 'Warm', artist: { name: 'Ada' } },
    ]
    expect((await get(query)).json).toEqual(expected)
    expect((await post(query)).json).toEqual(expected)
    expect((await get('albums?select=artist_id,count()&order=artist_id')).json).toEqual([
      { artist_id: 1, count: 2 },
      { artist_id: 2, count: 2 },
    ])
  })

  test('rows of a view, and of columns of its own, are filtered and ordered', async () => {
    expect((await get('old_albums?select=id&order=id.desc')).json).toEqual([{ id: 2 }, { id: 1 }])
    expect((await get('as_table?b=gt.1')).json).toEqual([{ a: 'B', b: 2 }])
    expect((await get('inout_two?num=1&select=renamed:num')).json).toEqual({ renamed: 2 })
  })

  test('a function of a table’s name, with columns of its own, has none of its relations', async () => {
    const answer = await get('as_table?select=a,artist(name)')
    expect(answer).toMatchObject({ status: 400, json: { detail: expect.stringContaining('no relation "artist"') } })
  })

  test('limit and offset say what is shown, count says how many there are', async () => {
    const exact = { prefer: 'count=exact' }
    expect(await get('albums?limit=2&offset=1', exact)).toMatchObject({
      status: 206,
      headers: { 'content-range': '1-2/4', 'preference-applied': 'count=exact' },
    })
    expect(await post('albums?limit=2&offset=1', {}, exact)).toMatchObject({
      status: 206,
      headers: { 'content-range': '1-2/4' },
    })
    expect(await get('counted?upto=9&limit=3&offset=2')).toMatchObject({
      json: [3, 4, 5],
      headers: { 'content-range': '2-4/*' },
    })
    expect(await get('add_them?a=1', exact)).toMatchObject({ status: 200, headers: { 'content-range': '0-0/1' } })
    expect(await get('albums?select=*,artist!inner(*)&artist.id=eq.1', exact)).toMatchObject({
      headers: { 'content-range': '0-1/2' },
    })
    expect(await get('albums?offset=9', exact)).toMatchObject({ status: 416, headers: { 'content-range': '*/4' } })
  })

  test('a Range counts with GET alone, as RFC 9110 has it', async () => {
    expect((await get('counted?upto=5', { range: '1-2' })).json).toEqual([2, 3])
    expect((await post('counted', { upto: 5 }, { range: '1-2' })).json).toEqual([1, 2, 3, 4, 5])
    const head = await wharf.root.request('HEAD', `${RPC}/counted?upto=5`, { headers: { range: '1-2' } })
    expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-range': '0-4/*' } })
  })

  test('no answer has more results than the service gives at once', async () => {
    const answer = await get('counted?upto=60', { prefer: 'count=exact' })
    expect(answer).toMatchObject({ status: 206, headers: { 'content-range': '0-49/60' } })
  })

  test('CSV, exactly one result, and objects without their nulls', async () => {
    expect((await get('as_table', { accept: 'text/csv' })).text).toBe('a,b\nA,1\nB,2')
    expect((await get('counted?upto=2', { accept: 'text/csv' })).text).toBe('counted\n1\n2')
    const one = { accept: 'application/vnd.pgrst.object+json' }
    expect(await get('albums?id=eq.1&select=id', one)).toMatchObject({ status: 200, text: '{"id":1}' })
    expect(await get('an_album?id=1&select=id', one)).toMatchObject({ status: 200, text: '{"id":1}' })
    expect(await get('albums', one)).toMatchObject({ status: 406, json: { code: 'PGRST116' } })
    const stripped = { accept: 'application/vnd.pgrst.array+json;nulls=stripped' }
    expect((await get('albums?id=eq.4', stripped)).text).toBe('[{"id":4,"title":"Salt","artist_id":2}]')
  })

  test('one value is given as it is where the client asks for its type, and not where it is of another', async () => {
    const plain = { accept: 'text/plain' }
    expect(await get('as_page', plain)).toMatchObject({
      status: 200,
      text: 'as it is',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    })
    expect(await get('no_text', plain)).toMatchObject({ status: 200, text: '' })
    const xml = { 'content-type': 'text/xml', accept: 'text/xml' }
    expect((await wharf.root.post(`${RPC}/as_xml`, { body: '<a>b</a>', headers: xml })).text).toBe('<a>b</a>')
    expect((await wharf.root.post(`${RPC}/as_xml`, { body: '<', headers: xml })).status).toBe(400)
    const bytes = Uint8Array.of(0, 137, 255, 10)
    const octets = { 'content-type': 'application/octet-stream', accept: 'application/octet-stream' }
    const given = await wharf.root.post(`${RPC}/as_bytes`, { body: bytes, headers: octets })
    expect([...given.bytes]).toEqual([...bytes])
    for (const call of ['numbers', 'albums', 'counted?upto=1', 'stable_nothing', 'origin']) {
      expect((await get(call, plain)).status, call).toBe(406)
    }
    expect((await get('numbers', { accept: 'text/plain, application/json;q=0.5' })).json).toEqual([1, 2, 3])
    expect((await wharf.root.get('/content/shop/live/album', { headers: plain })).status).toBe(406)
  })

  test('values have no columns to be selected, filtered or ordered by', async () => {
    for (const query of ['select=a', 'order=a', 'a=eq.1']) {
      expect(await post(`numbers?${query}`)).toMatchObject({ status: 400 })
    }
  })
})

describe('arguments', () => {
  test('are found by name in a query, a JSON object and a form, and default where they are missing', async () => {
    expect((await get('add_them?a=1')).json).toBe(11)
    expect((await post('add_them', { b: 2, a: 1 })).json).toBe(3)
    expect((await send('add_them', 'application/x-www-form-urlencoded', 'a=1&b=2')).json).toBe(3)
    expect((await get('quoted%20Name?fullName=Ada')).json).toEqual({ fullName: 'Ada' })
  })

  test('a body that is missing is one without arguments', async () => {
    expect((await wharf.root.post(`${RPC}/numbers`)).json).toEqual([1, 2, 3])
    expect((await send('numbers', 'application/json', '')).json).toEqual([1, 2, 3])
  })

  test('of an array of objects the first counts, and of its keys those of columns', async () => {
    expect((await post('add_them', [{ a: 1, b: 2 }, { a: 5 }])).json).toBe(3)
    expect((await post('add_them?columns=a,b', { a: 1, b: 2, c: 3 })).json).toBe(3)
  })

  test('arrays, composites and JSON are what they are in JSON, and text in a query', async () => {
    expect((await post('sums', { nums: [1, 2] })).json).toBe(3)
    expect((await get('sums?nums={1,2}')).json).toBe(3)
    expect((await post('point_sum', { p: { x: 1, y: 2 } })).json).toBe(3)
    expect((await get('point_sum?p=(1,2)')).json).toBe(3)
    expect((await post('kind_of', { arg: { key: 3 } })).json).toBe('object')
    expect((await post('kind_of', { arg: '{"key": 3}' })).json).toBe('string')
  })

  test('a number keeps all its digits', async () => {
    const digits = '{"arg": 0.12345678901234567890123}'
    expect((await send('kind_of', 'application/json', digits)).json).toBe('number')
    expect((await send('whole', 'application/json', '123456789012345678901234567890')).text).toBe(
      '123456789012345678901234567890',
    )
  })

  test('one that is variadic is given as often as wanted, others count the last time', async () => {
    expect((await get('joined')).json).toEqual([])
    expect((await get('joined?v=hi')).json).toEqual(['hi'])
    expect((await get('joined?v=hi&v=th,"ere')).json).toEqual(['hi', 'th,"ere'])
    expect((await post('joined', { v: ['a', 'b'] })).json).toEqual(['a', 'b'])
    expect((await send('joined', 'application/x-www-form-urlencoded', 'v=a&v=b')).json).toEqual(['a', 'b'])
    expect((await get('hello?name=ignored&name=world')).json).toBe('Hello, world')
  })

  test('of the name of a column, one is an argument, and a filter where its value is one', async () => {
    expect((await get('below?id=4&id=gt.1&select=id')).json).toEqual([{ id: 2 }, { id: 3 }])
    expect((await get('below?id=4&id=not.in.(1,3)&select=id')).json).toEqual([{ id: 2 }])
  })

  test('functions of one name are told apart by the names of their arguments', async () => {
    expect((await get('loaded')).json).toEqual([1])
    expect((await get('loaded?a=1&b=2')).json).toBe(3)
    expect((await get('loaded?a=1&b=2&c=3')).json).toBe('123')
  })

  test('where names do not tell them apart, the answer names them', async () => {
    const answer = await get('same?arg=1')
    expect(answer).toMatchObject({ status: 300, json: { code: 'PGRST203' } })
    expect(answer).toMatchObject({
      json: { errors: [{ detail: 'could be same(arg integer)' }, { detail: 'could be same(arg text)' }] },
    })
  })

  test('a single argument without a name takes the body, by its type', async () => {
    expect((await send('whole', 'application/json', '{"A": 1}')).json).toEqual({ A: 1 })
    expect((await send('whole', 'application/json', '[1, 2]')).json).toEqual([1, 2])
    expect((await send('whole', 'text/plain', 'as it is')).json).toBe('as it is')
    expect((await send('whole', 'application/octet-stream', Uint8Array.of(0, 255, 10))).json).toBe(3)
    expect((await post('whole', { a: 1, b: 2 })).json).toBe(3)
    expect(await send('loaded', 'text/plain', 'x')).toMatchObject({ status: 404 })
    expect(await send('whole', 'audio/ogg', 'a')).toMatchObject({ status: 415 })
  })

  test('the first line of CSV has arguments by name, and is no argument as a whole', async () => {
    expect((await send('add_them', 'text/csv', 'b,a\n4,3\n9,9')).json).toBe(7)
    expect((await send('sums', 'text/csv', 'nums\n"{1,2,3}"')).json).toBe(6)
    expect((await send('kind_of', 'text/csv', 'arg\nNULL')).json).toBe(null)
    expect(await send('whole', 'text/csv', 'x\n1')).toMatchObject({ status: 404, json: { code: 'PGRST202' } })
    expect(await send('add_them', 'text/csv', 'a,b\n1')).toMatchObject({ status: 400, json: { code: 'PGRST102' } })
  })

  test('a value that is none of the type is refused by its name', async () => {
    const detail = 'query parameter "a": "x" is not a value of the argument "a"'
    expect(await get('add_them?a=x')).toMatchObject({ status: 400, json: { detail: expect.stringContaining(detail) } })
    expect(await get('doubled?val=-1')).toMatchObject({ status: 422, json: { code: '23514' } })
  })

  test('and in a body by its place', async () => {
    const answer = await post('add_them', { a: 1, b: 'x' })
    expect(answer).toMatchObject({ status: 400, json: { code: '22P02', errors: [{ pointer: '/b' }] } })
    expect(await send('add_them', 'application/json', '{a')).toMatchObject({ status: 400 })
  })
})

describe('functions that are not called', () => {
  test.for([
    ['ad_them?a=1', 'did you mean "add_them"?'],
    ['add_them?x=1', 'with the arguments "x" in this stage; there is add_them(a, b)'],
    ['add_them', 'without arguments in this stage; there is add_them(a, b)'],
    ['on_visit', 'no function "on_visit"'],
    ['of_any?a=1', 'no function "of_any"'],
    ['hidden', 'no function "hidden"'],
    ['proceed', 'no function "proceed"'],
    ['now', 'no function "now"'],
  ] as const)('GET %s is a 404', async ([call, detail]) => {
    const answer = await get(call)
    expect(answer).toMatchObject({ status: 404, json: { code: 'PGRST202', detail: expect.stringContaining(detail) } })
  })

  test('GET of a function that writes is a 405 that says POST, and nothing is written', async () => {
    const before = Number((await post('call_count')).text)
    for (const call of ['call_count', 'visits?first=1&last=2']) {
      expect(await get(call)).toMatchObject({ status: 405, headers: { allow: 'POST, OPTIONS' } })
    }
    expect(await wharf.root.request('HEAD', `${RPC}/call_count`)).toMatchObject({ status: 405 })
    expect(Number((await post('call_count')).text)).toBe(before + 1)
  })

  test.for(['PATCH', 'PUT', 'DELETE'])('%s is a 405', async (method) => {
    const said = { code: 'PGRST101', message: `Cannot use the ${method} method on RPC`, details: null, hint: null }
    expect(await wharf.root.request(method, `${RPC}/hello`)).toMatchObject({ status: 405, json: said })
  })
})

describe('errors', () => {
  test('RAISE is a 400 with its own code, message, detail and hint', async () => {
    expect(await get('refuses?code=P0001&message=No')).toMatchObject({
      status: 400,
      json: { code: 'P0001', message: 'No', details: 'Quota exceeded', hint: 'Upgrade' },
    })
  })

  test('a code that is a status of the client is the status', async () => {
    expect(await get('refuses?code=PT402&message=Pay')).toMatchObject({
      status: 402,
      json: {
        type: 'urn:wharf:error:raised',
        code: 'PT402',
        message: 'Pay',
        details: 'Quota exceeded',
        hint: 'Upgrade',
      },
    })
  })

  test.for(['PT200', 'PT302', 'PT503', 'PT40A', 'XX001', '57P01', '25006'])(
    'no function makes an answer look like another, by %s: it is a 400',
    async (code) => {
      const answer = await get(`refuses?code=${code}&message=No`)
      expect(answer).toMatchObject({ status: 400, json: { code } })
      expect(answer.headers).not.toHaveProperty('retry-after')
    },
  )

  test('RAISE SQLSTATE PGRST says status, code and message in JSON', async () => {
    const said = '{"code":"123","message":"ABC","details":"DEF","hint":"XYZ"}'
    const call = (answer: string) => post('refuses_pgrst', { said, answer })
    expect(await call('{"status":404,"headers":{"X-Header":"str"}}')).toMatchObject({
      status: 404,
      json: { code: '123', message: 'ABC', details: 'DEF', hint: 'XYZ' },
      headers: expect.not.objectContaining({ 'x-header': expect.anything() }),
    })
    for (const answer of ['{"status":200,"headers":{}}', '{"status":332}', '{"status":503}']) {
      expect(await call(answer)).toMatchObject({ status: 400, json: { code: '123', message: 'ABC', details: 'DEF' } })
    }
  })

  test.for([
    ['INVALID', '{"status":404}', "Invalid JSON value for MESSAGE: 'INVALID'"],
    ['{"code":"1","message":"A"}', 'INVALID', "Invalid JSON value for DETAIL: 'INVALID'"],
    ['{"code":"1","message":"A"}', '', 'DETAIL is missing in the RAISE statement'],
  ] as const)('and is told where that is no such JSON: %s with %j', async ([said, answer, details]) => {
    const message = `Could not parse JSON in the "RAISE SQLSTATE 'PGRST'" error`
    const answered = await post('refuses_pgrst', { said, answer })
    expect(answered).toMatchObject({ status: 400, json: { code: 'PGRST121', message, details } })
  })

  test('a function that fails leaves nothing of what it wrote', async () => {
    const json = { code: '23505', details: expect.stringMatching(/^Key \(.*\) already exists\.$/) }
    expect(await post('breaks')).toMatchObject({ status: 409, json })
    expect((await wharf.root.get('/content/shop/live/visit?n=lt.0')).json).toEqual([])
  })

  test('one that names what is not there is called once', async () => {
    const before = Number((await post('call_count')).text)
    expect(await post('broken')).toMatchObject({ status: 400, json: { code: '42P01' } })
    expect(Number((await post('call_count')).text)).toBe(before + 2)
  })

  test('one that is declared STABLE, and writes, is a 405, and nothing is written', async () => {
    for (const answer of [await get('says_stable'), await post('says_stable')]) {
      expect(answer).toMatchObject({ status: 405, json: { detail: expect.stringContaining('declare it VOLATILE') } })
    }
    expect((await wharf.root.get('/content/shop/live/visit?n=eq.100')).json).toEqual([])
  })

  test('one that goes on for too long is ended, with all that it wrote', async () => {
    for (const answer of await Promise.all([get('endless'), post('endless'), post('endless_write')])) {
      expect(answer).toMatchObject({ status: 504, json: { type: 'urn:wharf:error:query-timed-out' } })
    }
    expect((await wharf.root.get('/content/shop/live/visit?n=lt.0')).json).toEqual([])
    await noTransactionStaysOpen(wharf)
  })

  test('one that catches that it is ended is ended with its session, as is a view that calls it', async () => {
    const answers = [get('undying'), post('undying'), wharf.root.get('/content/shop/live/for_ever')]
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ status: 504, json: { type: 'urn:wharf:error:query-timed-out' } })
    }
    await noTransactionStaysOpen(wharf)
    expect(await get('numbers')).toMatchObject({ status: 200, json: [1, 2, 3] })
  })
})

describe('functions that write', () => {
  test('are called once, whatever of their result is asked for', async () => {
    const before = Number((await post('call_count')).text)
    await post('call_count?limit=0')
    await post('call_count', {}, { prefer: 'count=exact' })
    expect(Number((await post('call_count')).text)).toBe(before + 3)
    expect(await post('visits?limit=0&select=n', { first: 201, last: 203 })).toMatchObject({ status: 200, json: [] })
    expect(await post('visits?n=eq.0', { first: 204, last: 204 })).toMatchObject({ status: 200, json: [] })
    expect((await wharf.root.get('/content/shop/live/visit?select=n&n=gt.200&order=n')).json).toHaveLength(4)
  })

  test('have events in the log, and send the last one', async () => {
    const called = await post('visits?select=n', { first: 301, last: 302 })
    expect(called).toMatchObject({ status: 200, json: [{ n: 301 }, { n: 302 }] })
    const reference = called.headers['x-service-ref']
    const read = await wharf.root.get('/content/shop/live/visit?limit=1')
    expect(read.headers['x-service-ref']).toBe(reference)
    expect(await post('forget')).toMatchObject({ status: 204, headers: { 'x-service-ref': expect.any(String) } })
  })

  test('send no event where they wrote nothing to the stage', async () => {
    for (const call of ['writes_nothing', 'call_count', 'hello?columns=name']) {
      const answer = await post(call, { name: 'Ada' })
      if (call !== 'hello?columns=name') continue
      expect(answer).toMatchObject({ status: 200 })
      expect(answer.headers).not.toHaveProperty('x-service-ref')
    }
    expect((await post('call_count')).headers).not.toHaveProperty('x-service-ref')
  })

  test('are undone where more rows come of them than may be written, be they shown or not', async () => {
    const few = { prefer: 'max-affected=2' }
    for (const query of ['', '?limit=1', '?n=eq.501', '?select=n&limit=0']) {
      expect(await post(`visits${query}`, { first: 501, last: 503 }, few), query).toMatchObject({ status: 400 })
    }
    expect((await wharf.root.get('/content/shop/live/visit?n=gt.500')).json).toEqual([])
    expect(await post('visits?limit=1', { first: 501, last: 502 }, few)).toMatchObject({ status: 200 })
    expect(await post('forget', {}, few)).toMatchObject({ status: 400 })
  })

  test('are taken back where that is preferred, and answered as if they were not', async () => {
    const answer = await post('visits?select=n', { first: 601, last: 601 }, { prefer: 'tx=rollback' })
    expect(answer).toMatchObject({ status: 200, json: [{ n: 601 }], headers: { 'preference-applied': 'tx=rollback' } })
    expect(answer.headers).not.toHaveProperty('x-service-ref')
    expect((await wharf.root.get('/content/shop/live/visit?n=eq.601')).json).toEqual([])
  })

  test('are undone where the answer cannot be what was asked for', async () => {
    const one = { accept: 'application/vnd.pgrst.object+json' }
    expect(await post('visits', { first: 401, last: 402 }, one)).toMatchObject({ status: 406 })
    expect((await wharf.root.get('/content/shop/live/visit?n=in.(401,402)')).json).toEqual([])
  })
})

describe('what has changed', () => {
  const rpc = (call: string, reference: string) => get(call, { 'x-service-ref': reference })

  test('the answer of an immutable function is kept, and known by its reference', async () => {
    const first = await get('add_them?a=1')
    expect(first.headers).toMatchObject({ 'x-cache': 'miss', etag: expect.any(String) })
    expect((await get('add_them?a=1')).headers['x-cache']).toBe('hit')
    const reference = first.headers['x-service-ref'] ?? ''
    expect(await rpc('add_them?a=1', reference)).toMatchObject({ status: 304, text: '' })
    await wharf.root.post('/content/shop/live/artist', { json: { id: 50, name: 'New' } })
    expect(await rpc('add_them?a=1', reference)).toMatchObject({ status: 200 })
  })

  test('a volatile function that writes nothing is called by GET, and never kept', async () => {
    const first = await get('chance')
    expect(first).toMatchObject({ status: 200, headers: { 'x-cache': 'miss' } })
    expect((await rpc('chance', first.headers['x-service-ref'] ?? '')).text).not.toBe(first.text)
    const current = (await wharf.root.get('/content/shop/live/artist?limit=1')).headers['x-service-ref'] ?? ''
    expect(await rpc('chance', current)).toMatchObject({ status: 200 })
  })

  test('that of a stable one never is: it may read the clock, or another schema', async () => {
    const first = await get('the_time')
    const second = await rpc('the_time', first.headers['x-service-ref'] ?? '')
    expect(second).toMatchObject({ status: 200, headers: { 'x-cache': 'miss' } })
    expect(second.text).not.toBe(first.text)
    const current = (await wharf.root.get('/content/shop/live/artist?limit=1')).headers['x-service-ref'] ?? ''
    expect(await rpc('albums', current)).toMatchObject({ status: 200 })
    const etag = second.headers.etag ?? ''
    expect(await get('the_time', { 'if-none-match': etag })).toMatchObject({ status: 200 })
  })
})
