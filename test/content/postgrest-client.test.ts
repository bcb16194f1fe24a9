import { readFile } from 'node:fs/promises'
import { PostgrestClient } from '@supabase/postgrest-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let shop: PostgrestClient
beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', await readFile(new URL('../fixtures/record-shop.sql', import.meta.url), 'utf8'))
  shop = new PostgrestClient(`${wharf.url}/content/shop/live`, { headers: { Authorization: `Bearer ${ROOT_TOKEN}` } })
})
afterAll(() => wharf.close())

describe('reading with the PostgREST client', () => {
  test('filters and order', async () => {
    const { data, status } = await shop
      .from('album')
      .select('title, year')
      .gte('year', 1975)
      .ilike('title', '%water')
      .order('year', { ascending: false })
    expect(status).toBe(200)
    expect(data).toEqual([
      { title: 'Warm Water', year: 1979 },
      { title: 'Cold Water', year: 1975 },
    ])
  })

  test('filters on arrays, ranges, JSON, text search, NULL and lists', async () => {
    const ids = async (filtered: PromiseLike<{ data: { id: number }[] | null; error: unknown }>): Promise<unknown> => {
      const { data, error } = await filtered
      return error ?? data?.map(({ id }) => id)
    }
    const album = () => shop.from('album').select('id').order('id')
    expect(await ids(album().contains('tags', ['jazz', 'late night']))).toEqual([1])
    expect(await ids(album().containedBy('tags', ['jazz', 'fado']))).toEqual([2, 3])
    expect(await ids(album().overlaps('tags', ['fado', 'late night']))).toEqual([1, 4])
    expect(await ids(album().rangeGt('sold', '[1970-01-01,1971-01-01)'))).toEqual([1, 2])
    expect(await ids(album().rangeAdjacent('sold', '[1980-01-01,1985-01-01)'))).toEqual([1])
    expect(await ids(album().is('year', null))).toEqual([4])
    expect(await ids(album().not('year', 'is', null))).toEqual([1, 2, 3])
    expect(await ids(album().in('title', ['Cold Water', 'Ponte', 'a,b']))).toEqual([1, 4])
    expect(await ids(album().notIn('id', [1, 2]))).toEqual([3, 4])
    expect(await ids(album().textSearch('title', 'water', { type: 'websearch', config: 'english' }))).toEqual([1, 2])
    expect(await ids(album().likeAnyOf('title', ['Cold%', 'Pon%']))).toEqual([1, 4])
    expect(await ids(album().or('year.eq.1975,and(price.gt.100,format.eq.disc)'))).toEqual([1, 3])
    expect(await ids(album().match({ year: 1979, format: 'tape' }))).toEqual([2])
    expect(await ids(album().filter('note->>a', 'eq', '1.00'))).toEqual([1])
    expect(await ids(album().isDistinct('year', 1975))).toEqual([2, 3, 4])
    expect(await ids(album().regexMatch('title', '^(Cold|Warm)'))).toEqual([1, 2])
    expect(await ids(album().regexIMatch('title', '^(cold|WARM)'))).toEqual([1, 2])
    const artist = () => shop.from('artist').select('id').order('id')
    expect(await ids(artist().contains('data', { home: { city: 'Bergen' } }))).toEqual([1])
    expect(await ids(artist().eq('data->home->>city', 'Malmö'))).toEqual([2])
    expect(await ids(artist().eq('name', 'Nobody, "Jr."'))).toEqual([4])
  })

  test('embedding, with filters and order inside', async () => {
    const { data } = await shop
      .from('artist')
      .select('name, label(name), album!artist_id(title, track(title, seconds))')
      .gt('album.track.seconds', 100)
      .order('title', { referencedTable: 'album' })
      .order('seconds', { referencedTable: 'album.track', ascending: false })
      .limit(1, { referencedTable: 'album.track' })
      .eq('id', 1)
      .single()
    expect(data).toEqual({
      name: 'Ada Fjord',
      label: { name: 'Blue Door' },
      album: [
        { title: 'Cold Water', track: [{ title: 'Thaw', seconds: 310 }] },
        { title: 'Warm Water', track: [] },
      ],
    })
  })

  test('relations of views, and arrays of what many rows have', async () => {
    const { data } = await shop
      .from('cheap_album')
      .select('title, ...track(minutes:seconds)')
      .order('seconds', { referencedTable: 'track' })
    expect(data).toEqual([{ title: 'Cold Water', minutes: [200, 310] }])
  })

  test('a relation that may be any of several is a 300', async () => {
    const { error, status } = await shop.from('album').select('title, artist(name)')
    expect({ status, code: error?.code }).toEqual({ status: 300, code: 'PGRST201' })
    expect(error?.details).toContainEqual({
      cardinality: 'many-to-one',
      embedding: 'album with artist',
      relationship: 'album_producer using album(producer_id) and artist(id)',
    })
    expect(error?.hint).toContain("'artist!album_producer'")
  })

  test('inner joins, spreading, many to many and renaming', async () => {
    const { data } = await shop
      .from('album')
      .select('record:title, ...artist!artist_id(by:name), genre!inner(name)')
      .eq('genre.name', 'folk')
      .order('title')
    expect(data).toEqual([
      { record: 'Cold Water', by: 'Ada Fjord', genre: [{ name: 'folk' }] },
      { record: 'Ponte', by: 'Zé', genre: [{ name: 'folk' }] },
    ])
  })

  test('ranges and counts', async () => {
    const page = await shop.from('number').select('n', { count: 'exact' }).order('n').range(10, 12)
    expect(page).toMatchObject({ status: 206, count: 500, data: [{ n: 11 }, { n: 12 }, { n: 13 }] })
    expect(await shop.from('number').select('n', { count: 'planned', head: true })).toMatchObject({
      count: 500,
      data: null,
    })
    expect(await shop.from('number').select('n', { count: 'estimated' }).lte('n', 7)).toMatchObject({ count: 7 })
  })

  test('one row, or maybe one', async () => {
    expect((await shop.from('label').select().eq('id', 2).single()).data).toEqual({
      id: 2,
      name: 'Tin Roof',
      country: 'PT',
    })
    expect(await shop.from('label').select().eq('id', 77).maybeSingle()).toMatchObject({ data: null, error: null })
    expect(await shop.from('label').select().gt('id', 0).single()).toMatchObject({ data: null, status: 406 })
  })

  test('CSV, and no NULLs', async () => {
    expect((await shop.from('label').select('id,name').order('id').limit(1).csv()).data).toBe('id,name\n1,Blue Door')
    expect((await shop.from('label').select().eq('id', 3).stripNulls()).data).toEqual([{ id: 3, name: 'Empty Shelf' }])
  })

  test('what is wrong with a query is said', async () => {
    const { error, status } = await shop.from('album').select('titel')
    expect(status).toBe(400)
    expect(error).toMatchObject({
      type: 'urn:wharf:error:invalid-request',
      detail: 'query parameter "select", character 1: "album" has no column "titel"; did you mean "title"?',
    })
    expect((await shop.from('albun').select()).status).toBe(404)
    expect((await shop.from('album').select().eq('year', 'soon')).error).toMatchObject({
      detail: expect.stringContaining('"soon" is not a value of the column "year"'),
    })
    expect((await shop.from('album').select('artist(name)')).error).toMatchObject({
      errors: [{ detail: 'could be artist!album_artist_id_fkey(…)' }, { detail: 'could be artist!album_producer(…)' }],
    })
  })
})

describe('writing with the PostgREST client', () => {
  test('inserts, and gives back what is asked for', async () => {
    expect(await shop.from('genre').insert({ id: 10, name: 'ska' })).toMatchObject({
      status: 201,
      data: null,
      error: null,
    })
    const { data } = await shop
      .from('artist')
      .insert([
        { id: 10, name: 'X', label_id: 2 },
        { id: 11, name: 'Y' },
      ])
      .select('name, label(name)')
      .order('name')
    expect(data).toEqual([
      { name: 'X', label: { name: 'Tin Roof' } },
      { name: 'Y', label: null },
    ])
  })

  test('takes defaults for what a row does not name, on request', async () => {
    const rows = [
      { id: 30, hits: 1 },
      { id: 31, note: 'x' },
    ]
    const { data } = await shop.from('counter').insert(rows, { defaultToNull: false }).select().order('id')
    expect(data).toEqual([
      { id: 30, hits: 1, note: 'new' },
      { id: 31, hits: 7, note: 'x' },
    ])
  })

  test('upserts by the key, by another one, or leaves what is there', async () => {
    const rows = [
      { id: 20, name: 'House' },
      { id: 21, name: 'Dub' },
    ]
    expect((await shop.from('genre').upsert(rows, { count: 'exact' })).count).toBe(2)
    expect((await shop.from('genre').upsert({ id: 20, name: 'Acid' }).select().single()).data).toEqual({
      id: 20,
      name: 'Acid',
    })
    const byName = await shop.from('genre').upsert({ id: 22, name: 'Dub' }, { onConflict: 'name' }).select()
    expect(byName.data).toEqual([{ id: 22, name: 'Dub' }])
    const ignored = await shop.from('genre').upsert({ id: 20, name: 'Techno' }, { ignoreDuplicates: true }).select()
    expect(ignored.data).toEqual([])
  })

  test('updates and deletes what the filters find', async () => {
    await shop.from('label').insert([
      { id: 50, name: 'Fifty' },
      { id: 51, name: 'Fifty-one' },
    ])
    const updated = await shop
      .from('label')
      .update({ country: 'SE' }, { count: 'exact' })
      .gte('id', 50)
      .select('id, country')
      .order('id')
    expect(updated).toMatchObject({
      count: 2,
      data: [
        { id: 50, country: 'SE' },
        { id: 51, country: 'SE' },
      ],
    })
    expect(await shop.from('label').delete({ count: 'exact' }).in('id', [50, 51])).toMatchObject({
      count: 2,
      status: 204,
    })
    expect((await shop.from('label').select().gte('id', 50)).data).toEqual([])
  })

  test('what is wrong with a write is said, and nothing is written', async () => {
    expect(await shop.from('genre').insert({ id: 1, name: 'again' })).toMatchObject({ status: 409 })
    expect(
      await shop.from('genre').insert([
        { id: 60, name: 'a' },
        { id: 61, name: 'a' },
      ]),
    ).toMatchObject({ status: 409 })
    expect(await shop.from('genre').insert({ id: 60, nmae: 'a' })).toMatchObject({
      status: 400,
      error: { errors: [{ pointer: '/nmae', detail: 'is no column of "genre"; did you mean "name"?' }] },
    })
    expect(await shop.from('genre').delete()).toMatchObject({ status: 400 })
    expect(await shop.from('genre').update({ name: 'x' }).eq('id', 'one')).toMatchObject({ status: 400 })
    expect((await shop.from('genre').select().gte('id', 60)).data).toEqual([])
  })
})

/** `maxAffected` is there for clients that are typed for PostgREST 13. */
const atMost = <T>(query: T, rows: number): T =>
  (query as unknown as { maxAffected(rows: number): T }).maxAffected(rows)

describe('guards and forms of writes with the PostgREST client', () => {
  const LABELS = [
    { id: 70, name: 'Seventy', country: null },
    { id: 71, name: 'Seventy-one', country: 'NO' },
  ]
  beforeAll(async () => {
    expect(await shop.from('label').insert(LABELS)).toMatchObject({ status: 201 })
  })
  afterAll(async () => {
    await shop.from('label').delete().gte('id', 70)
  })
  const labels = async () => (await shop.from('label').select('id, name, country').gte('id', 70).order('id')).data

  test('single() expects one row to be written, and maybeSingle() one or none', async () => {
    const moved = (id: number) => shop.from('label').update({ country: 'SE' }).gte('id', id).select('id').rollback()
    expect(await moved(71).single()).toMatchObject({ status: 200, data: { id: 71 } })
    expect(await moved(70).single()).toMatchObject({ status: 406, data: null, error: { code: 'PGRST116' } })
    expect(await moved(71).maybeSingle()).toMatchObject({ data: { id: 71 }, error: null })
    expect(await moved(99).maybeSingle()).toMatchObject({ data: null, error: null })
    expect(await shop.from('label').delete().gte('id', 70).select().single()).toMatchObject({ status: 406 })
    const two = await shop
      .from('label')
      .insert([{ id: 80 }, { id: 81 }])
      .select()
      .single()
    expect(two.data).toBeNull()
    expect(await labels()).toEqual(LABELS)
  })

  test('maxAffected() keeps more rows from being written', async () => {
    const both = () => shop.from('label').update({ country: 'SE' }).gte('id', 70)
    expect(await atMost(both(), 1)).toMatchObject({
      status: 400,
      error: { code: 'PGRST124', details: 'The query affects 2 rows' },
    })
    expect(await atMost(shop.from('label').delete().gte('id', 70), 1)).toMatchObject({ status: 400 })
    expect(await labels()).toEqual(LABELS)
    expect(await atMost(both().select('id').rollback(), 2)).toMatchObject({
      status: 200,
      data: [{ id: 70 }, { id: 71 }],
    })
  })

  test('rollback() shows what a write would do, and does nothing', async () => {
    const added = { id: 72, name: 'Added', country: null }
    expect(await shop.from('label').insert(added).select().rollback().single()).toMatchObject({ data: added })
    expect(
      await shop
        .from('label')
        .upsert({ ...LABELS[0], country: 'DK' })
        .select()
        .rollback(),
    ).toMatchObject({
      status: 200,
      data: [{ id: 70, country: 'DK' }],
    })
    expect(await shop.from('label').delete().gte('id', 70).select('id').order('id').rollback()).toMatchObject({
      data: [{ id: 70 }, { id: 71 }],
    })
    expect(await labels()).toEqual(LABELS)
  })

  test('rows written come as CSV, without NULLs, in an order and limited', async () => {
    const write = () => shop.from('label').update({ country: 'SE' }).gte('id', 70)
    const csv = await write().select('id, country').order('id', { ascending: false }).rollback().csv()
    expect(csv.data).toBe('id,country\n71,SE\n70,SE')
    const nothing = () => shop.from('label').update({ country: null }).gte('id', 70)
    expect((await nothing().select().order('id').rollback().stripNulls()).data).toEqual([
      { id: 70, name: 'Seventy' },
      { id: 71, name: 'Seventy-one' },
    ])
  })

  test('an upsert says by its status whether a row is new', async () => {
    const upsert = (id: number) => shop.from('label').upsert({ id, name: 'Upserted' }).rollback()
    expect((await upsert(70)).status).toBe(200)
    expect((await upsert(79)).status).toBe(201)
  })

  test('a view of one table is written', async () => {
    const view = () => shop.from('cheap_album')
    expect(await view().update({ title: 'Cheap' }).eq('id', 1).select('title').rollback()).toMatchObject({
      data: [{ title: 'Cheap' }],
    })
    expect(await view().delete().eq('id', 77)).toMatchObject({ status: 204 })
  })

  test('schema() may name the stage, and no other', async () => {
    expect(await shop.schema('live').from('label').select('id').eq('id', 70)).toMatchObject({ data: [{ id: 70 }] })
    expect(await shop.schema('public').from('label').select('id').eq('id', 70)).toMatchObject({ data: [{ id: 70 }] })
    expect(await shop.schema('other').from('label').delete().eq('id', 70)).toMatchObject({ status: 406 })
    expect(await labels()).toEqual(LABELS)
  })

  test('setHeader() asks for what has changed only', async () => {
    const read = () => shop.from('label').select('id').eq('id', 70)
    const first = await fetch(`${wharf.url}/content/shop/live/label?select=id&id=eq.70`, {
      headers: { Authorization: `Bearer ${ROOT_TOKEN}` },
    })
    const reference = first.headers.get('x-service-ref') ?? ''
    expect(await read().setHeader('x-service-ref', reference)).toMatchObject({ status: 304, data: null })
    expect(await read().setHeader('prefer', 'count=exact')).toMatchObject({ status: 200, count: 1, data: [{ id: 70 }] })
  })

  test('overrideTypes() and retry() change nothing of an answer', async () => {
    const read = shop.from('label').select('id').eq('id', 70).retry(false)
    const { data } = await read.overrideTypes<{ id: number }[], { merge: false }>()
    expect(data).toEqual([{ id: 70 }])
  })

  test('explain() is refused', async () => {
    expect(await shop.from('label').select('id').explain()).toMatchObject({ status: 406, data: null })
  })

  test('throwOnError() throws what is wrong', async () => {
    const taken = shop.from('label').insert(LABELS).throwOnError()
    await expect(Promise.resolve(taken)).rejects.toMatchObject({ code: '23505' })
  })
})
