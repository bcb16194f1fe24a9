import { PostgrestClient } from '@supabase/postgrest-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FUNCTION_SHOP } from '../support/content/functions.ts'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

/* `rpc()` of PostgREST's client, in each way that its documentation shows. */

let wharf: TestWharf
let shop: PostgrestClient

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', FUNCTION_SHOP)
  shop = new PostgrestClient(`${wharf.url}/content/shop/live`, { headers: { Authorization: `Bearer ${ROOT_TOKEN}` } })
})
afterAll(() => wharf.close())

test('a function without arguments', async () => {
  expect(await shop.rpc('numbers')).toMatchObject({ status: 200, data: [1, 2, 3], error: null })
})

test('a function with arguments', async () => {
  expect(await shop.rpc('hello', { name: '👋' })).toMatchObject({ status: 200, data: 'Hello, 👋' })
})

test('many values at once, as an array', async () => {
  expect(await shop.rpc('sums', { nums: [1, 2, 3] })).toMatchObject({ status: 200, data: 6 })
})

test('filters and a single row', async () => {
  expect(await shop.rpc('albums').eq('id', 1).single()).toMatchObject({ status: 200, data: { id: 1, title: 'Cold' } })
  expect(await shop.rpc('albums').eq('id', 99).maybeSingle()).toMatchObject({ data: null, error: null })
  expect(await shop.rpc('albums').single()).toMatchObject({ status: 406, error: { code: 'PGRST116' } })
})

test('a selection with what is embedded, an order, a limit and a range', async () => {
  const { data } = await shop
    .rpc('albums')
    .select('title, artist(name)')
    .not('year', 'is', null)
    .order('year', { ascending: false })
    .limit(1)
  expect(data).toEqual([{ title: 'Ice', artist: { name: 'Bo' } }])
  const ranged = await shop.rpc('albums').select('id').order('id').range(1, 2)
  expect(ranged.data).toEqual([{ id: 2 }, { id: 3 }])
})

test('by GET, with arguments of every form', async () => {
  const get = { get: true } as const
  expect(await shop.rpc('hello', { name: 'world' }, get)).toMatchObject({ status: 200, data: 'Hello, world' })
  expect(await shop.rpc('sums', { nums: [1, 2] }, get)).toMatchObject({ status: 200, data: 3 })
  expect(await shop.rpc('call_count', {}, get)).toMatchObject({ status: 405, error: { message: expect.any(String) } })
})

test('a count, with the rows and alone', async () => {
  expect(await shop.rpc('albums', {}, { count: 'exact' }).limit(1)).toMatchObject({ status: 206, count: 4 })
  expect(await shop.rpc('albums', {}, { count: 'exact', head: true })).toMatchObject({ data: null, count: 4 })
})

test('a function that writes, and one that gives nothing', async () => {
  expect(await shop.rpc('visits', { first: 1, last: 2 }).select('n')).toMatchObject({ data: [{ n: 1 }, { n: 2 }] })
  expect(await shop.rpc('forget')).toMatchObject({ status: 204, data: null, error: null })
  expect((await shop.from('visit').select()).data).toEqual([])
})

test('CSV', async () => {
  expect(await shop.rpc('as_table').csv()).toMatchObject({ data: 'a,b\nA,1\nB,2' })
})

test('what a function raises', async () => {
  expect(await shop.rpc('refuses', { code: 'PT402', message: 'Pay' })).toMatchObject({
    status: 402,
    error: { code: 'PT402', message: 'Pay', details: 'Quota exceeded', hint: 'Upgrade' },
  })
  expect(await shop.rpc('refuses', { code: 'P0001', message: 'No' })).toMatchObject({
    status: 400,
    error: { code: 'P0001', message: 'No' },
  })
  expect(await shop.rpc('not_there')).toMatchObject({ status: 404, error: { code: 'PGRST202' } })
})
