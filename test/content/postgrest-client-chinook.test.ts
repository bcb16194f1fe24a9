import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { PostgrestClient } from '@supabase/postgrest-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

/** A real database, that is not part of the project. */
const CHINOOK = fileURLToPath(new URL('../../../shared/data/chinook/chinook.sql', import.meta.url))

describe.skipIf(!existsSync(CHINOOK))('a music shop of 15,607 rows', () => {
  let wharf: TestWharf
  let chinook: PostgrestClient
  beforeAll(async () => {
    wharf = await startWharf()
    await createProject(wharf, 'chinook', await readFile(CHINOOK, 'utf8'))
    const headers = { Authorization: `Bearer ${ROOT_TOKEN}` }
    chinook = new PostgrestClient(`${wharf.url}/content/chinook/live`, { headers })
  })
  afterAll(() => wharf.close())

  test('every table can be counted, and read to its end in pages', async () => {
    const counts: Record<string, number | null> = {}
    for (const table of ['artist', 'invoice_line', 'playlist_track', 'track']) {
      counts[table] = (await chinook.from(table).select('*', { count: 'exact', head: true })).count
    }
    expect(counts).toEqual({ artist: 275, invoice_line: 2240, playlist_track: 8715, track: 3503 })
    const seen = new Set<number>()
    for (let from = 0; from < 3503; from += 1000) {
      const { data } = await chinook
        .from('track')
        .select('track_id')
        .order('track_id')
        .range(from, from + 999)
      for (const { track_id } of data ?? []) seen.add(track_id)
    }
    expect(seen.size).toBe(3503)
  })

  test('relations lead from an artist to who bought the tracks', async () => {
    const { data, error } = await chinook
      .from('artist')
      .select(
        'name, album!inner(title, track(name, milliseconds, genre(name), invoice_line(unit_price, invoice(customer(email)))))',
      )
      .eq('name', 'AC/DC')
      .ilike('album.title', '%rock')
      .order('title', { referencedTable: 'album' })
      .order('track_id', { referencedTable: 'album.track' })
      .limit(1, { referencedTable: 'album.track' })
      .single()
    expect(error).toBeNull()
    expect(data).toEqual({
      name: 'AC/DC',
      album: [
        {
          title: 'Let There Be Rock',
          track: [
            {
              name: 'Go Down',
              milliseconds: 331180,
              genre: { name: 'Rock' },
              invoice_line: [{ unit_price: 0.99, invoice: { customer: { email: expect.stringContaining('@') } } }],
            },
          ],
        },
      ],
    })
  })

  test('a table that refers to itself, and one in between two others', async () => {
    const { data } = await chinook
      .from('employee')
      .select('last_name, boss:reports_to(last_name), staff:employee!reports_to(last_name)')
      .eq('last_name', 'Edwards')
    expect(data).toEqual([
      {
        last_name: 'Edwards',
        boss: { last_name: 'Adams' },
        staff: expect.arrayContaining([{ last_name: 'Peacock' }, { last_name: 'Park' }, { last_name: 'Johnson' }]),
      },
    ])
    const lists = await chinook.from('playlist').select('name, track(count)').eq('name', 'Grunge').single()
    expect(lists.data).toEqual({ name: 'Grunge', track: [{ count: 15 }] })
  })

  test("names in many alphabets are found, and sums are PostgreSQL's own", async () => {
    expect((await chinook.from('customer').select('last_name').eq('city', 'São José dos Campos')).data).toEqual([
      { last_name: 'Gonçalves' },
    ])
    const { data } = await chinook
      .from('invoice')
      .select('billing_country, total.sum()')
      .in('billing_country', ['Norway', 'Portugal'])
      .order('billing_country')
    expect(data).toEqual([
      { billing_country: 'Norway', sum: 39.62 },
      { billing_country: 'Portugal', sum: 77.24 },
    ])
  })

  test('rows are written, changed and deleted, and keys are kept', async () => {
    const { data } = await chinook.from('artist').insert({ artist_id: 9001, name: 'Ada Fjord' }).select().single()
    expect(data).toEqual({ artist_id: 9001, name: 'Ada Fjord' })
    const album = await chinook
      .from('album')
      .upsert({ album_id: 9001, title: 'Cold Water', artist_id: 9001 })
      .select('title, artist(name)')
    expect(album.data).toEqual([{ title: 'Cold Water', artist: { name: 'Ada Fjord' } }])
    expect((await chinook.from('artist').delete().eq('artist_id', 9001)).status).toBe(409)
    expect((await chinook.from('album').update({ artist_id: 99999 }).eq('album_id', 9001)).status).toBe(409)
    expect((await chinook.from('album').delete({ count: 'exact' }).eq('album_id', 9001)).count).toBe(1)
    expect((await chinook.from('artist').delete({ count: 'exact' }).eq('artist_id', 9001)).count).toBe(1)
  })
})
