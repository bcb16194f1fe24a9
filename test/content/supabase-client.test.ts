import { readFile } from 'node:fs/promises'
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

/* The data methods of supabase-js, each as its reference documents it, with a token of Wharf's for the key. */

let wharf: TestWharf
let shop: SupabaseClient

beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_MAX_ROWS: '10' } })
  const script = await readFile(new URL('../fixtures/record-shop.sql', import.meta.url), 'utf8')
  await createProject(
    wharf,
    'shop',
    `${script}
     CREATE FUNCTION hello(name text DEFAULT 'you') RETURNS text STABLE LANGUAGE sql AS $$ SELECT 'Hello, ' || name $$;
     CREATE FUNCTION albums() RETURNS SETOF album STABLE LANGUAGE sql AS 'SELECT * FROM album ORDER BY id';
     CREATE FUNCTION add_genre(id int, name text) RETURNS genre LANGUAGE sql AS 'INSERT INTO genre VALUES (id, name) RETURNING *'`,
  )
  shop = clientOf('shop')
})
afterAll(() => wharf.close())

/** The client adds `/rest/v1` to its address, which a stage has not. */
const clientOf = (project: string): SupabaseClient =>
  createClient(`${wharf.url}/content/${project}/live`, ROOT_TOKEN, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    // Node.js 20 has no WebSocket, and nothing here is of its realtime part.
    realtime: { transport: class {} as never },
    global: { fetch: (url, init) => fetch(String(url).replace('/rest/v1', ''), init) },
  })

const albums = () => shop.from('album').select('id').order('id')
const idsOf = async (query: PromiseLike<{ data: { id: number }[] | null; error: unknown }>): Promise<unknown> => {
  const { data, error } = await query
  return error ?? data?.map(({ id }) => id)
}

describe('filters of supabase-js', () => {
  const filters: Readonly<Record<string, readonly [() => ReturnType<typeof albums>, readonly number[]]>> = {
    eq: [() => albums().eq('title', 'Ponte'), [4]],
    neq: [() => albums().neq('year', 1975), [2, 3]],
    gt: [() => albums().gt('year', 1979), [3]],
    gte: [() => albums().gte('year', 1979), [2, 3]],
    lt: [() => albums().lt('year', 1979), [1]],
    lte: [() => albums().lte('year', 1979), [1, 2]],
    like: [() => albums().like('title', '%Water'), [1, 2]],
    ilike: [() => albums().ilike('title', '%WATER'), [1, 2]],
    likeAllOf: [() => albums().likeAllOf('title', ['%Water', 'Cold%']), [1]],
    likeAnyOf: [() => albums().likeAnyOf('title', ['%Salt', 'Cold%']), [1, 3]],
    ilikeAllOf: [() => albums().ilikeAllOf('title', ['%WATER', 'cold%']), [1]],
    ilikeAnyOf: [() => albums().ilikeAnyOf('title', ['%SALT', 'cold%']), [1, 3]],
    is: [() => albums().is('in_stock', true), [1, 4]],
    'is null': [() => albums().is('year', null), [4]],
    in: [() => albums().in('title', ['Ponte', 'Cold Water']), [1, 4]],
    'in of arrays': [() => albums().filter('tags', 'in', '({jazz,"late night"},{jazz})'), [1, 2]],
    contains: [() => albums().contains('tags', ['jazz', 'late night']), [1]],
    'contains of a range': [() => albums().contains('sold', '[1976-01-01,1977-01-01)'), [1]],
    containedBy: [() => albums().containedBy('tags', ['jazz', 'late night', 'fado']), [1, 2, 3]],
    rangeGt: [() => albums().rangeGt('sold', '[1970-01-01,1971-01-01)'), [1, 2]],
    rangeGte: [() => albums().rangeGte('sold', '[1976-01-01,1977-01-01)'), [2]],
    rangeLt: [() => albums().rangeLt('sold', '[1990-01-01,1991-01-01)'), [1]],
    rangeLte: [() => albums().rangeLte('sold', '[1970-01-01,1985-01-01)'), [1]],
    rangeAdjacent: [() => albums().rangeAdjacent('sold', '[1980-01-01,1985-01-01)'), [1]],
    overlaps: [() => albums().overlaps('tags', ['fado', 'late night']), [1, 4]],
    textSearch: [() => albums().textSearch('title', "'cold' & 'water'"), [1]],
    'textSearch of the web': [() => albums().textSearch('title', 'salt or ponte', { type: 'websearch' }), [3, 4]],
    match: [() => albums().match({ year: 1979, format: 'tape' }), [2]],
    not: [() => albums().not('year', 'in', '(1975,1979)'), [3]],
    or: [() => albums().or('year.eq.1975,and(price.gt.100,format.eq.disc)'), [1, 3]],
    filter: [() => albums().filter('title', 'in', '("Ponte","Cold Water")'), [1, 4]],
  }

  test.each(Object.entries(filters))('%s', async (_, [query, expected]) => {
    expect(await idsOf(query())).toEqual(expected)
  })

  test('of what is embedded', async () => {
    const query = shop.from('artist').select('name, album!artist_id!inner(title)').eq('album.year', 1979)
    expect((await query).data).toEqual([{ name: 'Ada Fjord', album: [{ title: 'Warm Water' }] }])
    const either = shop
      .from('artist')
      .select('name, album!artist_id!inner(title)')
      .or('year.eq.1975,year.eq.1990', { referencedTable: 'album' })
      .order('name')
    expect((await either).data?.map(({ name }) => name)).toEqual(['Ada Fjord', 'The Öresund Four'])
  })
})

describe('modifiers of supabase-js', () => {
  test('order, limit and range', async () => {
    const byYear = shop.from('album').select('id').order('year', { ascending: false, nullsFirst: false })
    expect(await idsOf(byYear.limit(2))).toEqual([3, 2])
    expect(await idsOf(albums().range(1, 2))).toEqual([2, 3])
    const { data } = await shop
      .from('artist')
      .select('album!artist_id(title)')
      .eq('id', 1)
      .order('title', { referencedTable: 'album', ascending: false })
      .limit(1, { referencedTable: 'album' })
    expect(data).toEqual([{ album: [{ title: 'Warm Water' }] }])
  })

  test('at most WHARF_MAX_ROWS rows, with all that is embedded in each', async () => {
    expect((await shop.from('number').select()).data).toHaveLength(10)
    await shop.from('track').insert(Array.from({ length: 20 }, (_, number) => ({ album_id: 4, number, title: 'x' })))
    const { data } = await shop.from('album').select('id, track(number)').eq('id', 4).single()
    expect(data?.track).toHaveLength(20)
  })

  test('single and maybeSingle', async () => {
    expect((await albums().eq('id', 1).single()).data).toEqual({ id: 1 })
    expect(await albums().single()).toMatchObject({ data: null, status: 406, error: { code: 'PGRST116' } })
    expect(await albums().eq('id', 77).maybeSingle()).toMatchObject({ data: null, error: null })
  })

  test('csv', async () => {
    expect((await shop.from('label').select('id, name').order('id').limit(1).csv()).data).toBe('id,name\n1,Blue Door')
  })

  test('abortSignal', async () => {
    expect((await albums().abortSignal(AbortSignal.abort())).error?.message).toContain('abort')
    expect(await idsOf(albums().abortSignal(AbortSignal.timeout(60_000)))).toEqual([1, 2, 3, 4])
  })

  test('counts, with rows and without', async () => {
    expect(await shop.from('number').select('*', { count: 'exact', head: true })).toMatchObject({
      count: 500,
      data: null,
    })
    expect(await albums().limit(1)).toMatchObject({ count: null, data: [{ id: 1 }] })
    expect((await shop.from('album').select('id', { count: 'exact' }).gt('id', 1)).count).toBe(3)
  })

  test('explain is refused, and says so', async () => {
    const { error, status } = await albums().explain()
    expect(status).toBe(406)
    expect(error).not.toBeNull()
  })

  test('throwOnError', async () => {
    await expect(shop.from('album').select('titel').throwOnError()).rejects.toMatchObject({
      message: 'column album.titel does not exist',
      hint: 'Perhaps you meant to reference the column "album.title".',
    })
  })
})

describe('writes of supabase-js', () => {
  test('insert one, many, and with what is read back', async () => {
    expect(await shop.from('genre').insert({ id: 10, name: 'ska' })).toMatchObject({ status: 201, data: null })
    const many = [
      { id: 11, name: 'dub' },
      { id: 12, name: 'house' },
    ]
    expect((await shop.from('genre').insert(many, { count: 'exact' }).select()).data).toEqual(many)
  })

  test('update', async () => {
    expect(await shop.from('genre').update({ name: 'Ska' }).eq('id', 10)).toMatchObject({ status: 204, error: null })
    expect((await shop.from('genre').update({ name: 'ska' }).eq('id', 10).select().single()).data).toEqual({
      id: 10,
      name: 'ska',
    })
    for (const count of ['exact', 'planned', 'estimated'] as const) {
      expect(await shop.from('genre').update({ name: 'ska' }, { count }).eq('id', 10)).toMatchObject({ count: 1 })
    }
    const inJson = await shop
      .from('artist')
      .update({ data: { home: { city: 'Oslo' } } })
      .eq('id', 2)
      .select('home:data->home->>city')
    expect(inJson.data).toEqual([{ home: 'Oslo' }])
  })

  test('upsert by the key, by another one, and without what is there', async () => {
    expect((await shop.from('genre').upsert({ id: 11, name: 'Dub' }).select()).data).toEqual([{ id: 11, name: 'Dub' }])
    const byName = shop.from('genre').upsert({ id: 13, name: 'Dub' }, { onConflict: 'name' }).select()
    expect((await byName).data).toEqual([{ id: 13, name: 'Dub' }])
    const ignored = shop.from('genre').upsert({ id: 13, name: 'other' }, { ignoreDuplicates: true }).select()
    expect((await ignored).data).toEqual([])
  })

  test('delete', async () => {
    expect(await shop.from('genre').delete().eq('id', 10)).toMatchObject({ status: 204, error: null })
    expect((await shop.from('genre').delete().in('id', [12, 13]).select().order('id')).data).toEqual([
      { id: 12, name: 'house' },
      { id: 13, name: 'Dub' },
    ])
  })
})

describe('functions and schemas of supabase-js', () => {
  test('rpc, with arguments and without, by GET, and with filters', async () => {
    expect((await shop.rpc('hello')).data).toBe('Hello, you')
    expect((await shop.rpc('hello', { name: 'Ada' })).data).toBe('Hello, Ada')
    expect((await shop.rpc('hello', { name: 'Zé' }, { get: true })).data).toBe('Hello, Zé')
    expect((await shop.rpc('albums', undefined, { count: 'exact' }).select('id').gt('id', 2)).data).toEqual([
      { id: 3 },
      { id: 4 },
    ])
    expect((await shop.rpc('albums', {}, { head: true, count: 'exact' })).count).toBe(4)
    expect((await shop.rpc('add_genre', { id: 20, name: 'fado' })).data).toEqual({ id: 20, name: 'fado' })
  })

  test("schema() names the stage of the address, and no other one's", async () => {
    expect((await shop.schema('live').from('label').select('id').eq('id', 1)).data).toEqual([{ id: 1 }])
    expect(await shop.schema('preview').from('label').select()).toMatchObject({ status: 406, data: null })
  })
})
