import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failureOf, openRecordShop, type QueryStage } from '../../support/content/record-shop.ts'

let shop: QueryStage
beforeAll(async () => {
  shop = await openRecordShop()
})
afterAll(() => shop.close())

describe('columns', () => {
  test('all of them come where nothing is selected, with values as PostgreSQL writes them in JSON', async () => {
    const { text } = await shop.read('album', 'id=eq.3')
    expect(text).toBe(
      '[{"id":3,"title":"100% Salt","artist_id":2,"producer_id":1,"year":1990,"price":12345678.901,"tags":[],' +
        '"sold":null,"format":"disc","rating":null,"in_stock":null,"note":[1],"slug":"100%-salt"}]',
    )
  })

  test.each([
    ['select=title,year&id=eq.1', '[{"title":"Cold Water","year":1975}]'],
    ['select=name:title, price&id=eq.1', '[{"name":"Cold Water","price":9.990}]'],
    ['select=price::text,year::text&id=eq.1', '[{"price":"9.990","year":"1975"}]'],
    ['select=p:price::int,format::text&id=eq.1', '[{"p":10,"format":"vinyl"}]'],
    ['select=year::double precision,tags::text&id=eq.4', '[{"year":null,"tags":"{fado,NULL}"}]'],
    ['select=note&id=eq.1', '[{"note":{"b": 1,  "a": 1.00}}]'],
    ['select=note->a,x:note->>a&id=eq.1', '[{"a":1.00,"x":"1.00"}]'],
    ['select=tags->0&id=eq.1', '[{"tags":"jazz"}]'],
    ['select=note->0::text,note&id=eq.3', '[{"note":[1]}]'],
    ['select=note,note->0::text&id=eq.3', '[{"note":"1"}]'],
    ['select=*&id=eq.77', '[]'],
    ['select=id,*,id&id=eq.2', expect.stringContaining('[{"id":2,"title":"Warm Water","artist_id":1,')],
    ['select=liner_notes!inner()', '[{}]'],
    ['select="title"&id=eq.1', '[{"title":"Cold Water"}]'],
  ])('%s gives %s', async (query, text) => {
    expect((await shop.read('album', query)).text).toEqual(text)
  })

  test('a step into JSON is called by its last key', async () => {
    const query = 'select=data->home->>city,data->plays->1,where:data->home->city&id=eq.1'
    expect(await shop.rows('artist', query)).toEqual([{ city: 'Bergen', plays: 'cello', where: 'Bergen' }])
  })

  test('views can be read', async () => {
    expect(await shop.rows('cheap_album')).toEqual([{ id: 1, title: 'Cold Water', price: 9.99 }])
  })

  test('fields that are NULL can be left out', async () => {
    const { json } = await shop.read('label', 'order=id&limit=2&offset=1', { stripNulls: true })
    expect(json).toEqual([
      { id: 2, name: 'Tin Roof', country: 'PT' },
      { id: 3, name: 'Empty Shelf' },
    ])
  })
})

describe('embedding', () => {
  test('a foreign key gives an object, or null', async () => {
    expect(await shop.rows('artist', 'select=name,label(name)&order=id')).toEqual([
      { name: 'Ada Fjord', label: { name: 'Blue Door' } },
      { name: 'The Öresund Four', label: { name: 'Blue Door' } },
      { name: 'Zé', label: { name: 'Tin Roof' } },
      { name: 'Nobody, "Jr."', label: null },
    ])
  })

  test('a page has the objects of its own rows, in their order', async () => {
    const query = 'select=title,artist!artist_id(name,...label(country))&order=artist(name).desc,id&limit=2&offset=1'
    expect(await shop.rows('album', query)).toEqual([
      { title: '100% Salt', artist: { name: 'The Öresund Four', country: 'NO' } },
      { title: 'Cold Water', artist: { name: 'Ada Fjord', country: 'NO' } },
    ])
  })

  test('the other way round it gives an array, that may be empty', async () => {
    expect(await shop.rows('label', 'select=name,artist(name)&artist.order=name.desc&order=id')).toEqual([
      { name: 'Blue Door', artist: [{ name: 'The Öresund Four' }, { name: 'Ada Fjord' }] },
      { name: 'Tin Roof', artist: [{ name: 'Zé' }] },
      { name: 'Empty Shelf', artist: [] },
    ])
  })

  test('it goes through a table in between', async () => {
    expect(await shop.rows('genre', 'select=name,album(title)&album.order=id&order=id')).toEqual([
      { name: 'jazz', album: [{ title: 'Cold Water' }, { title: 'Warm Water' }] },
      { name: 'folk', album: [{ title: 'Cold Water' }, { title: 'Ponte' }] },
      { name: 'polka', album: [] },
    ])
  })

  test('a foreign key that is unique gives an object both ways', async () => {
    expect(await shop.rows('album', 'select=id,liner_notes(text)&id=lte.2&order=id')).toEqual([
      { id: 1, liner_notes: { text: 'Recorded in a lighthouse.' } },
      { id: 2, liner_notes: null },
    ])
    expect(await shop.rows('liner_notes', 'select=album(id)')).toEqual([{ album: { id: 1 } }])
  })

  test('it nests, with aliases', async () => {
    const query = 'select=company:name,people:artist(name,records:album!artist_id(title,track(seconds)))&id=eq.2'
    expect(await shop.rows('label', query)).toEqual([
      { company: 'Tin Roof', people: [{ name: 'Zé', records: [{ title: 'Ponte', track: [] }] }] },
    ])
  })

  test.each([
    ['a foreign key after the table', 'select=x:artist!album_producer(name)&id=eq.1', 'The Öresund Four'],
    ['a column after the table', 'select=x:artist!artist_id(name)&id=eq.1', 'Ada Fjord'],
    ['a foreign key alone', 'select=x:album_producer(name)&id=eq.1', 'The Öresund Four'],
    ['a column alone', 'select=x:producer_id(name)&id=eq.1', 'The Öresund Four'],
  ])('%s tells which of two relations is meant', async (_, query, name) => {
    expect(await shop.rows('album', query)).toEqual([{ x: { name } }])
  })

  test('a table in between can be named as well', async () => {
    expect(await shop.rows('album', 'select=genre!album_genre(name)&genre.order=name&id=eq.1')).toEqual([
      { genre: [{ name: 'folk' }, { name: 'jazz' }] },
    ])
  })

  test('which of several is meant has to be said', async () => {
    const { code, message, faults } = await failureOf(shop.read('album', 'select=id,artist(name)'))
    expect(code).toBe('AMBIGUOUS_RELATION')
    expect(message).toBe(
      'query parameter "select", character 4: "artist" may be any of 2 relations of "album"; say which',
    )
    expect(faults).toEqual([
      { detail: 'could be artist!album_artist_id_fkey(…)' },
      { detail: 'could be artist!album_producer(…)' },
    ])
  })

  test('a table that refers to itself leads up by its column, and down by the table', async () => {
    expect(
      await shop.rows('clerk', 'select=name,boss:boss_id(name),staff:clerk!boss_id(name)&id=in.(1,2)&order=id'),
    ).toEqual([
      { name: 'Rosa', boss: null, staff: [{ name: 'Otto' }, { name: 'Ivy' }] },
      { name: 'Otto', boss: { name: 'Rosa' }, staff: [{ name: 'Max' }] },
    ])
    expect(await shop.rows('clerk', 'select=name,clerk(name)&id=eq.2')).toEqual([
      { name: 'Otto', clerk: [{ name: 'Max' }] },
    ])
  })

  test('a relation of which nothing is shown, nor of those in it, is not in the answer', async () => {
    expect(await shop.rows('artist', 'select=id,label(artist!inner())&id=gte.3&order=id')).toEqual([
      { id: 3 },
      { id: 4 },
    ])
    const inner = 'select=id,artist!artist_id!inner(label!inner())&artist.label.id=eq.0'
    expect(await shop.rows('album', inner)).toEqual([])
  })

  test('spreading puts the columns into the row around them', async () => {
    const query = 'select=name,...label(company:name,country)&order=id&id=gte.3'
    expect(await shop.rows('artist', query)).toEqual([
      { name: 'Zé', company: 'Tin Roof', country: 'PT' },
      { name: 'Nobody, "Jr."', company: null, country: null },
    ])
  })

  test('spreading goes on inside itself', async () => {
    const query = 'select=title,...artist!artist_id(artist:name,...label(label:name))&id=eq.1'
    expect(await shop.rows('album', query)).toEqual([{ title: 'Cold Water', artist: 'Ada Fjord', label: 'Blue Door' }])
  })

  test('rows inside have filters, order and limits of their own', async () => {
    const query =
      'select=title,track(title)&track.seconds=gt.100&track.order=number.desc&track.limit=1&id=lte.2&order=id'
    expect(await shop.rows('album', query)).toEqual([
      { title: 'Cold Water', track: [{ title: 'Thaw' }] },
      { title: 'Warm Water', track: [] },
    ])
    expect(
      await shop.rows(
        'album',
        'select=t:track(number)&t.or=(seconds.lt.250,title.eq.Thaw)&t.offset=1&t.order=number&id=eq.1',
      ),
    ).toEqual([{ t: [{ number: 2 }] }])
  })

  test('!inner leaves out rows without any inside', async () => {
    expect(await shop.rows('album', 'select=title,track!inner(seconds)&track.seconds=gt.250')).toEqual([
      { title: 'Cold Water', track: [{ seconds: 310 }] },
    ])
    expect(await shop.rows('genre', 'select=name,album!inner()&album.title=eq.Ponte')).toEqual([{ name: 'folk' }])
    expect(await shop.rows('artist', 'select=name,...label!inner(country)&label.country=eq.PT')).toEqual([
      { name: 'Zé', country: 'PT' },
    ])
  })

  test('filters can ask whether there is one', async () => {
    expect(await shop.rows('artist', 'select=id,label()&label=is.null')).toEqual([{ id: 4 }])
    expect(await shop.rows('album', 'select=id,track()&track=not.is.null&order=id')).toEqual([
      { id: 1 },
      { id: 2 },
      { id: 3 },
    ])
    expect(await shop.rows('album', 'select=id,track(number)&track=is.null')).toEqual([{ id: 4, track: [] }])
    const either = 'select=id,t:track(),liner_notes()&or=(liner_notes.not.is.null,t.is.null)&order=id'
    expect(await shop.rows('album', either)).toEqual([{ id: 1 }, { id: 4 }])
  })

  test('an embedded row that has a filter is there only if it passes', async () => {
    expect(await shop.rows('artist', 'select=id,label(name)&label.name=eq.Tin Roof&order=id&id=lte.3')).toEqual([
      { id: 1, label: null },
      { id: 2, label: null },
      { id: 3, label: { name: 'Tin Roof' } },
    ])
  })
})

describe('order and paging', () => {
  test.each([
    ['order=year', [1, 2, 3, 4]],
    ['order=year.desc', [4, 3, 2, 1]],
    ['order=year.desc.nullslast', [3, 2, 1, 4]],
    ['order=year.nullsfirst', [4, 1, 2, 3]],
    ['order=artist_id.desc, year.asc', [4, 3, 1, 2]],
    ['order=note->>a.nullslast,id.desc', [1, 4, 3, 2]],
    ['order=id&limit=2&offset=1', [2, 3]],
    ['order=id&limit=0', []],
  ])('%s', async (query, expected) => {
    const { json } = await shop.read('album', `select=id&${query}`)
    expect((json as { id: number }[]).map(({ id }) => id)).toEqual(expected)
  })

  test('rows can be ordered by a column of a row that they refer to', async () => {
    const query = 'select=id,a:artist!artist_id()&order=a(name).desc,id.desc'
    expect(await shop.rows('album', query)).toEqual([{ id: 4 }, { id: 3 }, { id: 2 }, { id: 1 }])
    const { message } = await failureOf(shop.read('album', 'select=id,track(number)&order=track(number)'))
    expect(message).toContain('"track" has many rows for one of "album"')
  })

  test('a range comes within limit and offset, and within the most that is given', async () => {
    const page = async (query: string, options: object): Promise<unknown> => {
      const { json, plan } = await shop.read('album', `select=id&order=id&${query}`, options)
      return [(json as { id: number }[]).map(({ id }) => id), plan.offset, plan.limit]
    }
    expect(await page('offset=0', { range: { offset: 1, limit: 2 } })).toEqual([[2, 3], 1, 2])
    expect(await page('offset=2&limit=2', { range: { offset: 0, limit: 3 } })).toEqual([[3], 2, 1])
    expect(await page('offset=1', { maxRows: 2 })).toEqual([[2, 3], 1, 2])
    expect(await page('offset=1', {})).toEqual([[2, 3, 4], 1, null])
  })

  test('rows are counted exactly, whatever the page', async () => {
    const { rows, total } = await shop.read('album', 'year=not.is.null&limit=1', { count: 'exact' })
    expect({ rows, total }).toEqual({ rows: 1, total: 3 })
    expect((await shop.read('album', 'select=id,track!inner()&track.seconds=gt.250', { count: 'exact' })).total).toBe(1)
    expect((await shop.read('album', '')).total).toBeNull()
  })

  test("an estimate is exact while it is small, and what PostgreSQL's planner expects beyond", async () => {
    const total = async (query: string, count: 'planned' | 'estimated'): Promise<number | null> =>
      (await shop.read('number', query, { count, maxRows: 100 })).total
    expect(await total('n=lte.40', 'estimated')).toBe(40)
    expect(await total('', 'estimated')).toBe(500)
    expect(await total('', 'planned')).toBe(500)
    expect(await total('n=gt.400&limit=1', 'planned')).toBe(100)
  })
})

describe('aggregates', () => {
  test.each([
    ['album', 'select=count()', [{ count: 4 }]],
    ['album', 'select=n:count', [{ n: 4 }]],
    ['album', 'select=price.max(),low:price.min()&id=lt.3', [{ max: 12.5, low: 9.99 }]],
    [
      'track',
      'select=album_id,seconds.sum(),n:count()&order=album_id',
      [
        { album_id: 1, sum: 510, n: 2 },
        { album_id: 2, sum: 95, n: 1 },
        { album_id: 3, sum: 180, n: 2 },
      ],
    ],
    ['track', 'select=seconds.avg()::int', [{ avg: 196 }]],
    ['track', 'select=number::text.max()', [{ max: '2' }]],
    [
      'label',
      'select=name,artist(count())&order=id',
      [
        { name: 'Blue Door', artist: [{ count: 2 }] },
        { name: 'Tin Roof', artist: [{ count: 1 }] },
        { name: 'Empty Shelf', artist: [{ count: 0 }] },
      ],
    ],
    ['artist', 'select=label(name),count()&label_id=eq.1', [{ label: { name: 'Blue Door' }, count: 2 }]],
    ['artist', 'select=...label(country),count()&label_id=eq.2', [{ country: 'PT', count: 1 }]],
    [
      'artist',
      'select=label_id,...label(count(),label:name.max())&order=label_id',
      [
        { label_id: 1, count: 2, label: 'Blue Door' },
        { label_id: 2, count: 1, label: 'Tin Roof' },
        { label_id: null, count: 0, label: null },
      ],
    ],
    ['artist', 'select=...label(count())', [{ count: 3 }]],
    [
      'artist',
      'select=label_id,...label(count())&label.country=eq.PT&order=label_id',
      [
        { label_id: 1, count: 0 },
        { label_id: 2, count: 1 },
        { label_id: null, count: 0 },
      ],
    ],
    ['artist', 'select=label_id,...label!inner(count())&label.country=eq.PT', [{ label_id: 2, count: 1 }]],
    ['artist', 'select=label_id,...label(count())&id=lt.3', [{ label_id: 1, count: 2 }]],
    ['artist', 'select=label_id,...label(count())&order=label_id&limit=1&offset=1', [{ label_id: 2, count: 1 }]],
    ['track', 'select=...album(artist_id,...artist!artist_id(count()))&album_id=eq.1', [{ artist_id: 1, count: 2 }]],
    ['track', 'select=...album(...artist!artist_id(n:count(),born.max()))', [{ n: 5, max: '1950-02-01' }]],
    [
      'album',
      'select=...artist!artist_id(home:data->home,...label(count()))&artist_id=eq.1',
      [{ home: { city: 'Bergen', floor: 3 }, count: 2 }],
    ],
    ['album', 'select=...artist!artist_id(label(name)),n:count()&id=lt.4', [{ label: { name: 'Blue Door' }, n: 3 }]],
  ])('%s?%s', async (table, query, expected) => {
    expect(await shop.rows(table, query)).toEqual(expected)
  })

  test('groups are counted as rows', async () => {
    expect((await shop.read('track', 'select=album_id,count()&limit=1', { count: 'exact' })).total).toBe(3)
    const spread = 'select=label_id,...label(count())&limit=1'
    expect((await shop.read('artist', spread, { count: 'exact' })).total).toBe(3)
  })
})

describe('forms', () => {
  test('CSV is that of COPY', async () => {
    const { text, rows } = await shop.read('artist', 'select=id,name,born,"data"&order=id&id=in.(1,4)', {
      format: 'csv',
    })
    expect(text).toBe(
      'id,name,born,data\n' +
        '1,Ada Fjord,1950-02-01,"{""home"": {""city"": ""Bergen"", ""floor"": 3}, ""plays"": [""harp"", ""cello""]}"\n' +
        '4,"Nobody, ""Jr.""",,null',
    )
    expect(rows).toBe(2)
  })

  test('CSV has booleans and arrays as PostgreSQL writes them, and embedded rows as JSON', async () => {
    const { text } = await shop.read('album', 'select=in_stock,tags,liner_notes(text)&id=eq.1', { format: 'csv' })
    expect(text).toBe('in_stock,tags,liner_notes\nt,"{jazz,""late night""}","{""text"":""Recorded in a lighthouse.""}"')
  })

  test('CSV of no rows is its header', async () => {
    expect((await shop.read('label', 'id=eq.77', { format: 'csv' })).text).toBe('id,name,country')
  })

  test('one row can be had as an object', async () => {
    const { json, rows } = await shop.read('label', 'id=eq.2', { format: 'object' })
    expect({ json, rows }).toEqual({ json: { id: 2, name: 'Tin Roof', country: 'PT' }, rows: 1 })
    expect(await shop.read('label', 'id=eq.77', { format: 'object' })).toMatchObject({ text: null, rows: 0 })
    expect(await shop.read('label', '', { format: 'object' })).toMatchObject({ rows: 3 })
  })

  test('a read selects what else is to be of the same moment', async () => {
    const reference = {
      select: 'r.n, r.label',
      from: '(SELECT $1::int + 1 AS n, $2::text AS label) AS r',
      values: [41, 'x'],
    }
    expect(await shop.read('label', 'id=eq.2&name=eq.Tin Roof', { reference })).toMatchObject({
      n: 42,
      label: 'x',
      rows: 1,
    })
  })
})

describe('what can not be selected is refused', () => {
  test.each([
    ['select=title,yaer', 'query parameter "select", character 7: "album" has no column "yaer"; did you mean "year"?'],
    ['select=title,', 'character 7: expected a column, a relation or "*", found the end'],
    ['select=title)year', 'expected "," or the end, found "y"'],
    ['select=note->>--34', 'expected a key or an index, found "-"'],
    ['select=trakc(title)', 'no relation "trakc" of "album" is known from its foreign keys; did you mean "track"?'],
    ['select=track(title', 'expected "," or ")", found the end'],
    [
      'select=track!nope(title)',
      '"nope" names no relation from "album" to "track"; there is track!track_album_id_fkey',
    ],
    [
      'select=...track(title.max())',
      '"track" has many rows for one of "album", so there are no aggregates in what is spread of it',
    ],
    ['select=title::txet', 'there is no type "txet" to cast to; did you mean "text"?'],
    ['select=title::text)x', 'expected "," or the end, found "x"'],
    ['select=title::regclass', 'there is no type "regclass" to cast to'],
    ['select=title::point', 'invalid input syntax for type point'],
    ['select=year::point', 'cannot cast type integer to point'],
    ['select=price.median()', 'expected one of "count()", "sum()"'],
    ['select=title.sum()', 'function pg_catalog.sum(text) does not exist'],
    ['select="a\tb":title', 'a name in the answer has no control characters; choose one, as in "name:column"'],
    [`select=${'a'.repeat(64)}:title`, 'a name in the answer has at most 63 bytes'],
    ['select=id&track.limit=1', '"track" is not embedded in "album" by select'],
    ['select=track(title)&trakc.limit=1', '"trakc" is not embedded in "album" by select; did you mean "track"?'],
    ['select=id&order=track(title)', '"track" is not embedded in "album" by select'],
    ['select=year,count()&order=title', '"title" is not selected, and rows are grouped'],
    [`select=${Array.from({ length: 501 }, () => 'id').join()}`, 'more than 500 things are selected'],
    [`select=${Array.from({ length: 41 }, (_, n) => `t${n}:track(title)`).join()}`, 'more than 40 relations'],
    [`select=${'track(album('.repeat(5)}id${'))'.repeat(5)}`, 'relations are at most 8 deep'],
  ])('%s', async (query, message) => {
    const refused = await failureOf(shop.read('album', query))
    expect(refused.code).toBe('INVALID_REQUEST')
    expect(refused.message).toContain(message)
  })
})
