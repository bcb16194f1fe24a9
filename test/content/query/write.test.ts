import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failureOf, openRecordShop, type QueryStage, undone } from '../../support/content/record-shop.ts'

let shop: QueryStage
beforeAll(async () => {
  shop = await openRecordShop()
})
afterAll(() => shop.close())

const changing = (name: string, use: () => Promise<void>): void => test(name, () => undone(shop, use))

describe('inserting', () => {
  changing('one row gives it back as it is then', async () => {
    const { rows, json } = await shop.insert(
      'album',
      { title: 'New Water', artist_id: 1 },
      'select=id,title,price,slug',
    )
    expect(rows).toBe(1)
    expect(json).toEqual([{ id: 9007199254740992, title: 'New Water', price: 9.99, slug: 'new-water' }])
  })

  changing('several rows, with values that JavaScript has no numbers for', async () => {
    const text = '[{"id": 9007199254740995, "title": "A", "artist_id": 1, "price": 123456789.123}]'
    await shop.insert('album', text)
    const { text: back } = await shop.read('album', 'select=id,price&title=eq.A')
    expect(back).toBe('[{"id":9007199254740995,"price":123456789.123}]')
  })

  changing('arrays, ranges, enums, domains and JSON', async () => {
    const row = {
      title: 'B',
      artist_id: 3,
      tags: ['x', null, 'y"z'],
      sold: '[2001-01-01,)',
      format: 'disc',
      rating: 2,
      note: { a: [1] },
    }
    const { json } = await shop.insert('album', row, 'select=tags,sold,format,rating,note')
    const { title: _, artist_id: __, ...expected } = row
    expect(json).toEqual([expected])
  })

  changing('gives back what is embedded, in the order asked for', async () => {
    const rows = [
      { id: 10, name: 'X', label_id: 2 },
      { id: 11, name: 'Y', label_id: null },
    ]
    const { json } = await shop.insert('artist', rows, 'select=name,label(name)&order=name.desc')
    expect(json).toEqual([
      { name: 'Y', label: null },
      { name: 'X', label: { name: 'Tin Roof' } },
    ])
  })

  changing('with nothing given takes every default', async () => {
    expect((await shop.insert('counter', {})).json).toEqual([{ id: 3, hits: 7, note: 'new' }])
    expect((await shop.insert('counter', [{}, {}])).rows).toBe(2)
    expect(await shop.insert('counter', [])).toMatchObject({ rows: 0, json: [] })
  })

  changing('takes NULL for what "columns" names and a row does not have, or the default on request', async () => {
    const body = [
      { id: 20, note: 'a' },
      { id: 21, hits: 1 },
      { id: 22, extra: true },
    ]
    const query = 'columns=id,hits,note&order=id'
    await shop.session.run(['SAVEPOINT before'])
    await expect(shop.insert('counter', body, query)).rejects.toThrow('null value in column "hits"')
    await shop.session.run(['ROLLBACK TO before'])
    expect((await shop.insert('counter', body, query, { missing: 'default' })).json).toEqual([
      { id: 20, hits: 7, note: 'a' },
      { id: 21, hits: 1, note: 'new' },
      { id: 22, hits: 7, note: 'new' },
    ])
  })

  changing('changes rows that are there already, or leaves them, on request', async () => {
    const rows = [
      { id: 1, name: 'Red Door' },
      { id: 9, name: 'Ninth' },
    ]
    const merged = await shop.insert('label', rows, 'order=id', { onDuplicate: 'merge' })
    expect(merged.json).toEqual([
      { id: 1, name: 'Red Door', country: 'NO' },
      { id: 9, name: 'Ninth', country: null },
    ])
    const ignored = await shop.insert(
      'label',
      [
        { id: 1, name: 'Other' },
        { id: 8, name: 'Eighth' },
      ],
      '',
      { onDuplicate: 'ignore' },
    )
    expect(ignored.json).toEqual([{ id: 8, name: 'Eighth', country: null }])
  })

  changing('knows rows by another unique key too', async () => {
    const { json } = await shop.insert('label', { id: 5, name: 'Empty Shelf' }, 'on_conflict=name', {
      onDuplicate: 'merge',
    })
    expect(json).toEqual([{ id: 5, name: 'Empty Shelf', country: null }])
  })

  changing('gives back as many rows as are asked for', async () => {
    const rows = [
      { id: 7, name: 'a' },
      { id: 8, name: 'b' },
    ]
    expect(await shop.insert('genre', rows, 'order=id.desc&limit=1')).toMatchObject({
      rows: 2,
      json: [{ id: 8, name: 'b' }],
    })
  })

  changing('gives back the key alone, or nothing', async () => {
    const body = { album_id: 4, number: 1, title: 'Só' }
    expect(await shop.insert('track', body, '', { return: 'headers-only' })).toEqual({
      rows: 1,
      merged: 0,
      key: '{"album_id":"4","number":"1"}',
      json: null,
    })
    expect(
      await shop.insert(
        'genre',
        [
          { id: 7, name: 'a' },
          { id: 8, name: 'b' },
        ],
        '',
        { return: 'headers-only' },
      ),
    ).toMatchObject({ rows: 2, key: null, json: null })
    expect(await shop.insert('genre', { id: 9, name: 'c' }, '', { return: 'minimal' })).toMatchObject({
      rows: 1,
      key: null,
      json: null,
    })
  })
})

describe('updating and deleting', () => {
  changing('changes the rows that the filters find, and shows them as they are then', async () => {
    const query = 'year=lt.1980&select=title,year,...artist!artist_id(name)&order=title.desc'
    expect(await shop.update('album', { year: 2000, tags: [] }, query)).toMatchObject({
      rows: 2,
      json: [
        { title: 'Warm Water', year: 2000, name: 'Ada Fjord' },
        { title: 'Cold Water', year: 2000, name: 'Ada Fjord' },
      ],
    })
    expect(await shop.rows('album', 'select=id&year=eq.2000&tags=eq.{}&order=id')).toEqual([{ id: 1 }, { id: 2 }])
  })

  changing('changes only the columns that "columns" names', async () => {
    await shop.update('label', { name: 'X', country: 'Y' }, 'id=eq.1&columns=country')
    expect(await shop.rows('label', 'id=eq.1')).toEqual([{ id: 1, name: 'Blue Door', country: 'Y' }])
  })

  changing('deletes the rows that the filters find, and shows what they were', async () => {
    expect(await shop.delete('track', 'or=(seconds.is.null,seconds.lt.100)&select=title&order=title')).toMatchObject({
      rows: 2,
      json: [{ title: 'Bath' }, { title: 'More_Salt' }],
    })
    expect((await shop.read('track', '', { count: 'exact' })).total).toBe(3)
  })

  changing('finds no row without complaint', async () => {
    expect(await shop.update('label', { name: 'X' }, 'id=eq.77')).toMatchObject({ rows: 0, json: [] })
    expect(await shop.delete('label', 'id=eq.77', { return: 'minimal' })).toMatchObject({
      rows: 0,
      json: null,
      key: null,
    })
    expect(await shop.delete('label', 'id=eq.77', { format: 'object' })).toMatchObject({ rows: 0, json: null })
  })
})

describe('a write that can not be done is refused', () => {
  test.each<[string, () => Promise<unknown>, string, unknown?]>([
    ['no JSON', () => shop.insert('label', '{"id":'), 'the body is not valid JSON'],
    [
      'no object',
      () => shop.insert('label', [{ id: 1 }, 2]),
      'an array of JSON objects',
      [{ pointer: '/1', detail: 'is no object' }],
    ],
    [
      'an unknown column',
      () => shop.insert('label', { nmae: 'x' }),
      'does not fit the table',
      [{ pointer: '/nmae', detail: 'is no column of "label"; did you mean "name"?' }],
    ],
    [
      'a generated column',
      () => shop.insert('album', [{ slug: 'x' }]),
      'does not fit the table',
      [{ pointer: '/0/slug', detail: 'is generated from other columns' }],
    ],
    [
      'rows with other keys',
      () => shop.insert('label', [{ id: 7, name: 'x' }, { id: 8 }]),
      'does not fit the table',
      [{ pointer: '/1', detail: expect.stringContaining('other keys') }],
    ],
    [
      'a malformed value',
      () =>
        shop.insert('label', [
          { id: 7, name: 'x' },
          { id: 'y', name: 'x' },
        ]),
      'invalid input syntax for type integer: "y"',
      [{ pointer: '/1/id', detail: 'is not a value of "id"' }],
    ],
    ['a value too long for its type', () => shop.insert('label', { id: 99999999999, name: 'x' }), 'out of range'],
    [
      'unknown columns named',
      () => shop.insert('label', { id: 7 }, 'columns=id,nam'),
      '"label" has no column "nam"; did you mean "name"?',
    ],
    [
      'a conflict on what is not unique',
      () => shop.insert('label', { id: 7 }, 'on_conflict=country', { onDuplicate: 'merge' }),
      'not a unique key of "label"; there are (id), (name)',
    ],
    [
      'one row twice',
      () =>
        shop.insert(
          'label',
          [
            { id: 7, name: 'x' },
            { id: 7, name: 'y' },
          ],
          '',
          { onDuplicate: 'merge' },
        ),
      'cannot affect row a second time',
    ],
    ['filters', () => shop.insert('label', { id: 7 }, 'id=eq.1'), 'an insert takes no filters'],
    ['two objects to change by', () => shop.update('label', [{ id: 7 }, { id: 8 }], 'id=eq.1'), 'has to be one object'],
    ['a limit', () => shop.delete('label', 'id=gt.1&limit=1'), 'PATCH and DELETE take no "limit"'],
    [
      'a filter on what is embedded',
      () => shop.delete('artist', 'label=is.null&select=label(name)'),
      'no filters on whether',
    ],
    [
      'a malformed filter value',
      () => shop.update('label', { name: 'x' }, 'id=eq.y'),
      'query parameter "id": "y" is not a value of the column "id"',
    ],
  ])('%s', async (_, write, message, faults) => {
    const refused = await failureOf(write())
    expect(refused.code).toBe('INVALID_REQUEST')
    expect(refused.message).toContain(message)
    if (faults) expect(refused.faults).toEqual(faults)
  })

  test('whether a filter restricts it can be seen', async () => {
    const { planDelete } = await import('../../../src/content/query/index.ts')
    const plan = (query: [string, string][]) =>
      planDelete(shop.catalog, 'label', query, { format: 'json', return: 'minimal' })
    expect([plan([]).filtered, plan([['select', 'id']]).filtered, plan([['id', 'eq.1']]).filtered]).toEqual([
      false,
      false,
      true,
    ])
  })
})
