import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failureOf, openQueryStage, type QueryStage, undone } from '../../support/content/record-shop.ts'

let stage: QueryStage
beforeAll(async () => {
  stage = await openQueryStage((session) => session.runFixture('theatre.sql'))
})
afterAll(() => stage.close())

type Case = readonly [table: string, query: string, expected: unknown]

const gives = async (table: string, query: string, expected: unknown): Promise<void> =>
  expect(await stage.rows(table, query)).toEqual(expected)

describe('views are related by the columns that they show', () => {
  test.each<Case>([
    ['drama', 'select=name,writer(name)&number=eq.1', [{ name: 'Rain', writer: { name: 'Ama' } }]],
    [
      'writer',
      'select=name,drama(name)&id=eq.1&drama.order=name.desc',
      [{ name: 'Ama', drama: [{ name: 'Snow' }, { name: 'Rain' }] }],
    ],
    ['drama', 'select=name,poet(name,plays)&number=eq.3', [{ name: 'Hail', poet: { name: 'BO', plays: 1 } }]],
    ['short_drama', 'select=number,poet(plays)&number=eq.2', [{ number: 2, poet: { plays: 2 } }]],
    [
      'short_drama',
      'select=number,staging!inner(year)&staging.order=year&number=eq.1',
      [{ number: 1, staging: [{ year: 1950 }, { year: 1970 }, { year: 1980 }] }],
    ],
    [
      'by_writer',
      'select=plays,...writer(name)&order=plays,writer(name).nullsfirst',
      [
        { plays: 1, name: null },
        { plays: 1, name: 'Bo' },
        { plays: 2, name: 'Ama' },
      ],
    ],
    ['drama', 'select=number,programme(pages)&number=eq.2', [{ number: 2, programme: { pages: 20 } }]],
    [
      'drama',
      'select=number,house!run(name)&number=eq.1&house.order=name',
      [{ number: 1, house: [{ name: 'Globe' }, { name: 'Rose' }] }],
    ],
    ['pair', 'select=first,writer!second(name)&first=eq.2', [{ first: 2, writer: { name: 'Bo' } }]],
  ])('%s?%s', gives)

  test('with a foreign key or a column alone, the table is meant and no view', async () => {
    await gives('play', 'select=id,writer_id(name)&id=eq.1', [{ id: 1, writer_id: { name: 'Ama' } }])
    await gives('play', 'select=id,play_writer(name)&id=eq.1', [{ id: 1, play_writer: { name: 'Ama' } }])
  })

  test('where a view shows a column twice, which is meant has to be said', async () => {
    const { code, faults } = await failureOf(stage.read('pair', 'select=writer(name)'))
    expect(code).toBe('AMBIGUOUS_RELATION')
    expect(faults).toHaveLength(2)
  })
})

describe('what a relation gives', () => {
  test('through a table in between, a row comes as often as that has it', () =>
    gives('play', 'select=id,house!staging(name)&id=eq.1&house.order=name', [
      { id: 1, house: [{ name: 'Globe' }, { name: 'Globe' }, { name: 'Rose' }] },
    ]))

  test('an object where a constraint makes the key unique, not where an index does', async () => {
    await gives('play', 'select=id,prompt_book(id)&id=eq.3', [{ id: 3, prompt_book: [{ id: 2 }] }])
    await gives('programme', 'select=play(title)&play_id=eq.1', [{ play: { title: 'Rain' } }])
  })

  test('by the column that is referred to', () =>
    gives('drama', 'select=number,programme!play_id(pages)&number=eq.1', [{ number: 1, programme: { pages: 12 } }]))
})

describe('spreading many rows gives arrays', () => {
  test.each<Case>([
    [
      'writer',
      'select=name,...play(title,id)&play.order=id.desc&order=id',
      [
        { name: 'Ama', title: ['Snow', 'Rain'], id: [2, 1] },
        { name: 'Bo', title: ['Hail'], id: [3] },
        { name: 'Cy', title: [], id: [] },
      ],
    ],
    ['writer', 'select=name,...play!inner(plays:title)&play.title=like.R*', [{ name: 'Ama', plays: ['Rain'] }]],
    ['writer', 'select=name,...play(title)&play=is.null', [{ name: 'Cy', title: [] }]],
    [
      'writer',
      'select=id,...play(title,...staging(year))&id=lt.3&order=id&play.order=id&play.staging.order=year',
      [
        { id: 1, title: ['Rain', 'Snow'], year: [[1950, 1970, 1980], []] },
        { id: 2, title: ['Hail'], year: [[1990]] },
      ],
    ],
    [
      'writer',
      'select=id,...play(poster,programme:label)&play.limit=1&play.order=id&id=eq.1',
      [{ id: 1, poster: ['#0000ff'], programme: ['Rain (1)'] }],
    ],
    [
      'house',
      'select=name,...staging(...play(title),year)&staging.order=play(title),year&id=eq.2',
      [{ name: 'Rose', title: ['Hail', 'Rain'], year: [1990, 1980] }],
    ],
    ['house', 'select=count(),...play!staging(title)&order=count&id=eq.3', '"count"'],
  ])('%s?%s', async (table, query, expected) => {
    if (typeof expected === 'string') expect((await failureOf(stage.read(table, query))).message).toContain(expected)
    else await gives(table, query, expected)
  })

  test('rows can be grouped by them', () =>
    gives('house', 'select=n:count(),...staging(year)&id=eq.3', [{ n: 1, year: [] }]))
})

describe('order by what is selected of a single row', () => {
  test.each<Case>([
    [
      'play',
      'select=id,...writer(since:born)&order=writer(since),id',
      [
        { id: 3, since: 1910 },
        { id: 1, since: 1930 },
        { id: 2, since: 1930 },
        { id: 4, since: null },
      ],
    ],
    [
      'play',
      'select=...writer(by:name,count())&order=writer(by).nullsfirst',
      [
        { by: null, count: 0 },
        { by: 'Ama', count: 2 },
        { by: 'Bo', count: 1 },
      ],
    ],
    [
      'play',
      'select=id,writer(name)&writer.name=eq.Bo&order=writer(name),id&limit=2',
      [
        { id: 3, writer: { name: 'Bo' } },
        { id: 1, writer: null },
      ],
    ],
    [
      'play',
      'select=id,writer(x:facts)&order=writer(x->born).desc.nullslast,id.desc&limit=1',
      [{ id: 2, writer: { x: { born: 1930 } } }],
    ],
  ])('%s?%s', gives)
})

describe('functions of a row', () => {
  test.each<Case>([
    ['play', 'select=id,label&id=eq.1', [{ id: 1, label: 'Rain (1)' }]],
    ['play', 'select=id&label=like.*(2)', [{ id: 2 }]],
    ['play', 'select=id&order=label&limit=1', [{ id: 4 }]],
    ['play', 'select=id,writer(label)&id=eq.3', [{ id: 3, writer: { label: 'by Bo' } }]],
    ['writer', 'select=id&facts->born=eq.1910', [{ id: 2 }]],
    ['writer', 'select=facts->>born,count()&born=not.is.null&order=born', '"born" is not selected'],
    ['play', 'select=*&id=eq.1', [{ id: 1, title: 'Rain', writer_id: 1, poster: '#0000ff' }]],
    ['play', 'select=id,h:houses(name)&h.order=name&id=eq.1', [{ id: 1, h: [{ name: 'Globe' }, { name: 'Rose' }] }]],
    ['play', 'select=id,houses!inner()&houses.name=eq.Rose&order=id', [{ id: 1 }, { id: 3 }]],
    [
      'play',
      'select=id,origin(name)&order=origin(name).desc.nullslast,id&limit=2',
      [
        { id: 3, origin: { name: 'Bo' } },
        { id: 1, origin: { name: 'Ama' } },
      ],
    ],
    ['play', 'select=id,...one_origin(by:name)&id=eq.3', [{ id: 3, by: 'Bo' }]],
    ['play', 'select=id,origin()&origin=is.null', [{ id: 4 }]],
    ['staging', 'select=id,play(...origin(name))&id=eq.4', [{ id: 4, play: { name: 'Bo' } }]],
    ['play', 'select=id,...houses(name)&houses.order=name&id=eq.1', [{ id: 1, name: ['Globe', 'Rose'] }]],
  ])('%s?%s', async (table, query, expected) => {
    if (typeof expected === 'string') expect((await failureOf(stage.read(table, query))).message).toContain(expected)
    else await gives(table, query, expected)
  })

  test('no page has more rows than were asked for, though a function returns more than the one row that it is declared to', async () => {
    for (const query of ['select=id,plays_of(title)&limit=1', 'select=id,plays_of(title)&order=id&limit=1']) {
      await gives('writer', query, [{ id: 1, plays_of: { title: 'Rain' } }])
    }
    const among = 'select=title,writer(name,plays_of(title))&id=eq.1&limit=1'
    await gives('play', among, [{ title: 'Rain', writer: { name: 'Ama', plays_of: { title: 'Rain' } } }])
  })

  test('one that has the name of a table stands in for what foreign keys say of it', async () => {
    await gives('play', 'select=id,programme!inner(pages)', [])
    await gives('play', 'select=id,programme(pages)&id=eq.1', [{ id: 1, programme: null }])
  })

  test('the rows that a write gives back have them, too', async () => {
    await undone(stage, async () => {
      const { json } = await stage.update('play', { title: 'Sleet' }, 'id=eq.2&select=label,origin(name),houses(name)')
      expect(json).toEqual([{ label: 'Sleet (2)', origin: { name: 'Ama' }, houses: [] }])
    })
  })
})

describe('a domain that has casts for it', () => {
  test.each<Case>([
    [
      'play',
      'select=id,poster&order=id&id=lt.4',
      [
        { id: 1, poster: '#0000ff' },
        { id: 2, poster: '#ff0000' },
        { id: 3, poster: '#000000' },
      ],
    ],
    ['play', 'select=p:poster::text&id=eq.1', [{ p: '"#0000ff"' }]],
    ['play', 'select=id&poster=eq.0000ff', [{ id: 1 }]],
    ['play', 'select=id&poster=in.(ff0000,"#000001")&order=id', [{ id: 2 }, { id: 4 }]],
    ['play', 'select=id&poster=is.null', [{ id: 3 }]],
    ['writer', 'select=play(poster)&id=eq.2', [{ play: [{ poster: '#000000' }] }]],
    ['play', 'select=poster,count()&poster=not.is.null&id=lt.2', [{ poster: '#0000ff', count: 1 }]],
  ])('%s?%s', gives)
})

test('a domain that has a cast from JSON is written by it', async () => {
  await undone(stage, async () => {
    const rows = [
      { id: 8, title: 'Dew', poster: '#00ff00' },
      { id: 9, title: 'Ice', poster: null },
    ]
    expect((await stage.insert('play', rows, 'select=id,poster&order=id')).json).toEqual([
      { id: 8, poster: '#00ff00' },
      { id: 9, poster: '#000000' },
    ])
    const changed = await stage.update('play', { poster: '#000002' }, 'id=eq.9&select=poster')
    expect(changed.json).toEqual([{ poster: '#000002' }])
    expect(await stage.rows('play', 'select=id&poster=in.(00ff00,000002)&order=id')).toEqual([{ id: 8 }, { id: 9 }])
  })
})

describe('a plan knows whether its answer can change without an event', () => {
  test.each([
    ['play', 'select=id,label,origin(name)', false],
    ['drama', 'select=*,poet(*)', false],
    ['play', 'select=dice', true],
    ['play', 'select=id&dice=eq.4', true],
    ['writer', 'select=play(id)&play.order=dice', true],
  ])('%s?%s: %s', async (table, query, unseen) => {
    expect((await stage.read(table, query)).plan.unseen).toBe(unseen)
  })
})

describe('what PostgREST passes over is passed over', () => {
  test.each<Case>([
    ['play', 'select=id,writer(name)))&id=eq.1', [{ id: 1, writer: { name: 'Ama' } }]],
    ['play', "select=id,writer(count)'&id=eq.1", [{ id: 1, writer: { count: 1 } }]],
    ['play', 'select=id&and=( or ( id.in.( 1, 2 ) , id.eq.3 ) ,id.gt.1))&order=id', [{ id: 2 }, { id: 3 }]],
    ['play', 'select=id,writer!inner!play_writer(id)&id=eq.1', [{ id: 1, writer: { id: 1 } }]],
    ['writer', 'select=id,play(id)&not.play.or=(id.eq.1,id.eq.9)&id=eq.1', [{ id: 1, play: [{ id: 2 }] }]],
    ['play', 'select=id&offset=-3&order=id&limit=1', [{ id: 1 }]],
    ['play', 'select=id&id=in.(   )', []],
    ['play', 'select=id&title=in.("Rain","a\\"b",")', [{ id: 1 }]],
    ['writer', 'select=facts->!@#$%^&id=eq.1', [{ '!@#$%^': null }]],
    ['play', 'select=id,w:writer_id(name)&writer_id=is.null', [{ id: 4, w: null }]],
  ])('%s?%s', gives)

  test('but not a limit below zero', async () => {
    expect(await failureOf(stage.read('play', 'limit=-1'))).toMatchObject({ code: 'RANGE_NOT_SATISFIABLE' })
  })
})
