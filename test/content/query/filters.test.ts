import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failureOf, openRecordShop, type QueryStage } from '../../support/content/record-shop.ts'

let shop: QueryStage
beforeAll(async () => {
  shop = await openRecordShop()
})
afterAll(() => shop.close())

/** Which albums a query finds, by their ids in order. */
const ids = async (query: string, table = 'album'): Promise<unknown> => {
  const rows = (await shop.rows(table, `select=id&order=id&${query}`)) as { id: number }[]
  return rows.map(({ id }) => id)
}

describe('filters', () => {
  test.each([
    ['year=eq.1975', [1]],
    ['year=neq.1975', [2, 3]],
    ['year=gt.1975', [2, 3]],
    ['year=gte.1979', [2, 3]],
    ['year=lt.1979', [1]],
    ['year=lte.1979', [1, 2]],
    ['year=not.lte.1979', [3]],
    ['year=isdistinct.1975', [2, 3, 4]],
    ['price=eq.12345678.901', [3]],
    ['title=like.*Water', [1, 2]],
    ['title=like.100*', [3]],
    ['title=ilike.*WATER', [1, 2]],
    ['title=match.^(Cold|Ponte)', [1, 4]],
    ['title=imatch.^cold', [1]],
    ['title=in.("Cold Water",Ponte)', [1, 4]],
    ['id=in.(1,3,77)', [1, 3]],
    ['id=in.()', []],
    ['id=not.in.(1,3)', [2, 4]],
    ['year=is.null', [4]],
    ['year=not.is.null', [1, 2, 3]],
    ['year=is.not_null', [1, 2, 3]],
    ['in_stock=is.true', [1, 4]],
    ['in_stock=is.unknown', [3]],
    ['tags=cs.{jazz}', [1, 2]],
    ['tags=cd.{jazz,fado}', [2, 3]],
    ['tags=ov.{fado,"late night"}', [1, 4]],
    ['tags=eq.{jazz}', [2]],
    ['tags=in.({jazz},{})', [2, 3]],
    ['sold=cs.[1979-06-01,1979-07-01)', [1, 2]],
    ['sold=ov.[1970-01-01,1976-01-01)', [1]],
    ['sold=sl.[1981-01-01,1982-01-01)', [1]],
    ['sold=sr.[1970-01-01,1971-01-01)', [1, 2]],
    ['sold=nxr.[1970-01-01,1990-01-01)', [1]],
    ['sold=nxl.[1976-01-01,1990-01-01)', [2]],
    ['sold=adj.[1980-01-01,1985-01-01)', [1]],
    ['format=eq.tape', [2]],
    ['rating=eq.77', []],
    ['rating=in.(4,5)', [1, 2]],
    ['title=like(any).{Cold*,*Salt}', [1, 3]],
    ['title=like(all).{*Water,Cold*}', [1]],
    ['year=eq(any).{1975,1990}', [1, 3]],
    ['year=not.eq(any).{1975,1990}', [2]],
    ['year=gt(all).{1975,1978}', [2, 3]],
    ['note->>a=eq.1.00', [1]],
    ['note->a=eq.1', [1]],
    ['note->0=eq.1', [3]],
    ['note->>-1=eq.1', [3]],
    ['tags->>1=eq.late night', [1]],
    ['title=fts.cold|salt', [1, 3]],
    ['title=fts(simple).cold', [1]],
    ['title=plfts(english).waters', [1, 2]],
    ['title=phfts.Cold Water', [1]],
    ['title=wfts(english).water -warm', [1]],
    ['title=not.wfts(english).water', [3, 4]],
    ['year=gte.1979&year=lt.1990', [2]],
    ['or=(year.eq.1975,title.eq.Ponte)', [1, 4]],
    ['and=(year.gte.1975,or(title.like.*Salt,not.price.gt.10))', [1, 3]],
    ['not.or=(year.eq.1975,title.eq.Ponte)', [2, 3]],
    ['not.and=(year.gte.1975,year.lt.1990)', [3]],
    ['or=(title.in.("Cold Water",Ponte),tags.cs.{jazz})', [1, 2, 4]],
    ['or=(title.eq."Cold Water",not.and(year.gt.1,year.lt.9999))', [1]],
    ['or=(sold.cs."[1979-06-01,1979-07-01)",id.eq.4)', [1, 2, 4]],
    ['or=(title.not.like.*Water,year.is.null)', [3, 4]],
    ['or=(title.like(any).{Cold*,Pon*})', [1, 4]],
  ])('finds the rows of %s', async (query, expected) => {
    expect(await ids(query)).toEqual(expected)
  })

  test.each([
    ['data->home->>city=eq.Bergen', [1]],
    ['data->home->floor=gt.2', [1]],
    ['data->plays->>0=eq.harp', [1]],
    ['data=cs.{"home":{"city":"Bergen"}}', [1]],
    ['data->home=cs.{"city":"Malmö"}', [2]],
    ['data=is.null', [3]],
    ['name=eq.Nobody, "Jr."', [4]],
    ['name=in.("Nobody, \\"Jr.\\"",Zé)', [3, 4]],
    ['or=(name.eq."Nobody, \\"Jr.\\"",born.lt.1960-01-01)', [1, 4]],
    ['data->>home=fts.bergen', [1]],
  ])('finds the artists of %s', async (query, expected) => {
    expect(await ids(query, 'artist')).toEqual(expected)
  })

  test('names of all kinds can be quoted', async () => {
    const table = 'odd, "names" (1)'
    expect(await shop.rows(table, 'select="the.key"&"order"=eq.second')).toEqual([{ 'the.key': 2 }])
    expect(await shop.rows(table, 'select=key:"the.key"&"a->b"->"x.y"=eq.1')).toEqual([{ key: 1 }])
    expect(await shop.rows(table, 'select=order&order=the.asc').catch(() => 'refused')).toBe('refused')
    expect(await shop.rows(table, 'select=order&order="order".desc')).toEqual([{ order: 'second' }, { order: 'first' }])
  })
})

describe('a query that can not be answered is refused', () => {
  test.each([
    [
      'yaer=eq.1975',
      'the name of query parameter "yaer", character 1: "album" has no column "yaer"; did you mean "year"?',
    ],
    ['year=eqq.1975', 'query parameter "year", character 1: there is no operator "eqq"; did you mean "eq"?'],
    ['year=1975', 'query parameter "year", character 1: expected an operator like "eq.", found "1"'],
    ['year=eq', 'query parameter "year", character 3: expected ".", found the end'],
    [
      'year=is.nul',
      'query parameter "year", character 4: expected "null", "not_null", "true", "false" or "unknown", found "n"',
    ],
    ['id=in.(1,2', 'query parameter "id", character 8: expected "," or ")", found the end'],
    ['id=in.(1,2)x', 'query parameter "id", character 9: expected the end, found "x"'],
    ['or=(id.eq.1,id.eq.2', 'query parameter "or", character 17: expected "," or ")", found the end'],
    ['or=(id.eq.1,idd.eq.2)', 'query parameter "or", character 10: "album" has no column "idd"; did you mean "id"?'],
    ['year=like.19*', '"like" is for text; "year" is of type integer'],
    ['year=is.true', '"is" is for booleans; "year" is of type integer'],
    ['year=cs.{1}', '"cs" is for arrays, ranges and JSON; "year" is of type integer'],
    ['year=sl.1', '"sl" is for ranges; "year" is of type integer'],
    ['year->a=eq.1', '"year" is no JSON'],
    ['tags=like(any).{a}', '"like" is for text; "tags" is of type text[]'],
    ['tags=eq(any).{a}', '"(any)" does not go with the type of "tags", text[]'],
    ['year=neq(any).{1}', 'character 4: expected ".", found "("'],
    ['artist.name=eq.Zé', '"artist" is not embedded in "album" by select'],
    ['limit=ten', 'query parameter "limit", character 1: expected a whole number, zero or more, found "t"'],
    ['limit=1&limit=2', 'query parameter "limit" comes more than once'],
    [
      'order=year.down',
      'query parameter "order", character 6: expected "asc", "desc", "nullsfirst" or "nullslast", found "d"',
    ],
    ['=eq.1', 'expected a column or a relation, found the end'],
    ['title=eq.a\0b', 'NUL'],
  ])('%s', async (query, message) => {
    const refused = await failureOf(shop.read('album', query))
    expect(refused.code).toBe('INVALID_REQUEST')
    expect(refused.message).toContain(message)
  })

  test.each([
    ['year=eq.abc', 'query parameter "year": "abc" is not a value of the column "year"'],
    ['id=in.(1,x)', 'query parameter "id": "x" is not a value of the column "id"'],
    ['or=(format.eq.shellac,id.eq.1)', 'query parameter "or": "shellac" is not a value of the column "format"'],
    ['sold=cs.[1975', 'query parameter "sold": "[1975" is not a value of the column "sold"'],
    ['title=match.(', 'invalid regular expression'],
    ['title=fts.a b', 'syntax error in tsquery'],
    ['title=fts(klingon).a', 'text search configuration "klingon" does not exist'],
    ['id=eq.99999999999999999999', 'is not a value of the column "id"'],
    ['note=eq.{}', 'operator does not exist: json = json'],
  ])('with what PostgreSQL says about it: %s', async (query, message) => {
    const refused = await failureOf(shop.read('album', query))
    expect(refused.code).toBe('INVALID_REQUEST')
    expect(refused.message).toContain(message)
  })

  test('where its answer would change with the clock alone', async () => {
    const { message } = await failureOf(shop.read('artist', 'born=lt.now'))
    expect(message).toContain('"now" is not accepted for "born", since answers are cached until rows change')
    await failureOf(shop.read('album', 'sold=ov.[today,)'))
    expect(await shop.rows('album', 'select=id&title=eq.now')).toEqual([])
    expect(await shop.delete('artist', 'born=gt.tomorrow')).toMatchObject({ rows: 0 })
  })

  test('as not found where there is no such table', async () => {
    const { code, message } = await failureOf(shop.read('albun'))
    expect(code).toBe('NOT_FOUND')
    expect(message).toBe('there is no table "albun" in this stage; did you mean "album"?')
  })

  test('beyond the limits of what one request may ask for', async () => {
    const many = Array.from({ length: 201 }, () => 'year=eq.1').join('&')
    expect((await failureOf(shop.read('album', many))).message).toContain('at most 200')
    expect((await failureOf(shop.read('album', `or=${'(or'.repeat(11)}(id.eq.1${')'.repeat(12)}`))).message).toContain(
      'at most 10 deep',
    )
    expect((await failureOf(shop.read('album', `title=eq.${'a'.repeat(70_000)}`))).message).toContain('at most 65536')
    expect((await failureOf(shop.read('album', `note${'->a'.repeat(21)}=eq.1`))).message).toContain('at most 20 steps')
  })
})
