import { existsSync } from 'node:fs'
import { PostgrestClient } from '@supabase/postgrest-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXTENSIONS_SCHEMA } from '../../src/contract/extensions-schema.ts'
import { installedCluster } from '../support/servers/installed-cluster.ts'
import { installedPrograms, versionOf } from '../support/servers/installed-programs.ts'
import { query } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

/** Whether Debian's `postgresql-<version>-postgis-3` is there; CI does without its 170 MB. */
function hasPostgis(): boolean {
  const programs = installedPrograms()
  return programs !== undefined && existsSync(`/usr/share/postgresql/${versionOf(programs)}/extension/postgis.control`)
}

const GEOJSON = { accept: 'application/geo+json' }

describe('without PostGIS', () => {
  let wharf: TestWharf
  afterAll(() => wharf?.close())
  beforeAll(async () => {
    wharf = await startWharf()
    await createProject(
      wharf,
      'plain',
      `CREATE TABLE quay (id int PRIMARY KEY, name text); INSERT INTO quay VALUES (1, 'North');
     CREATE FUNCTION quays() RETURNS SETOF quay LANGUAGE sql STABLE AS 'SELECT * FROM quay';
     CREATE FUNCTION st_asgeojson(quay) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT ''taken in''::text';`,
    )
  })

  test.for(['quay', 'rpc/quays'])('GeoJSON of %s is not acceptable', async (path) => {
    const answer = await wharf.root.get(`/content/plain/live/${path}`, { headers: GEOJSON })
    expect(answer.status).toBe(406)
    expect(answer.text).toContain('PostGIS')
  })

  test.for(['quay', 'rpc/quays'])(
    'who asks for a type that there is not learns that GeoJSON of %s needs PostGIS',
    async (path) => {
      const answer = await wharf.root.get(`/content/plain/live/${path}`, { headers: { accept: 'image/png' } })
      expect(answer.status).toBe(406)
      expect(answer.text).toContain("application/geo+json (where the stage's database has PostGIS)")
    },
  )

  test('a write that asks for GeoJSON writes nothing', async () => {
    const headers = { ...GEOJSON, prefer: 'return=representation' }
    expect((await wharf.root.post('/content/plain/live/quay', { json: { id: 2 }, headers })).status).toBe(406)
    expect((await wharf.root.get('/content/plain/live/quay?id=eq.2')).json).toEqual([])
  })

  test.for([
    ['application/geo+json, application/json;q=0.5', 'application/json; charset=utf-8', '[{"id":1}]'],
    ['application/geo+json, text/csv;q=0.9', 'text/csv; charset=utf-8', 'id\n1'],
    ['application/geo+json, */*;q=0.1', 'application/json; charset=utf-8', '[{"id":1}]'],
  ] as const)('a client that also takes something else gets that: %s', async ([accept, type, text]) => {
    const answer = await wharf.root.get('/content/plain/live/quay?select=id&id=eq.1', { headers: { accept } })
    expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([200, type, text])
  })
})

describe.skipIf(!hasPostgis())(`with PostGIS${hasPostgis() ? '' : ', which is not installed here'}`, () => {
  let wharf: TestWharf
  afterAll(() => wharf?.close())

  const feature = (id: number, coordinates: readonly number[], more: object = {}) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates },
    properties: { id, ...more },
  })
  const collection = (...features: readonly unknown[]) => ({ type: 'FeatureCollection', features })
  const shown = ({ text }: { readonly text: string }): unknown => JSON.parse(text)
  const SHOP = '/content/map/live/shop'

  beforeAll(async () => {
    const database = await installedCluster()?.createServiceDatabase()
    if (!database) throw new Error('PostgreSQL is not installed')
    wharf = await startWharf({ database })
    // Only a superuser may make it.
    await query(database.superuserUrl, `CREATE EXTENSION postgis SCHEMA ${EXTENSIONS_SCHEMA}`)
    await createProject(
      wharf,
      'map',
      `CREATE TABLE shop (id int PRIMARY KEY, name text, point geometry(Point, 4326), area geometry(Polygon, 4326));
       INSERT INTO shop VALUES (1, 'North', 'SRID=4326;POINT(-71.5 42.25)', 'SRID=4326;POLYGON((0 0,0 1,1 1,0 0))'), (2, 'South', 'SRID=4326;POINT(10.5 60)', NULL);
       CREATE TABLE beacon (id int PRIMARY KEY, shop_id int REFERENCES shop);
       INSERT INTO beacon VALUES (1, 1), (2, 1);
       CREATE FUNCTION shops(lowest int) RETURNS SETOF shop LANGUAGE sql STABLE AS 'SELECT * FROM shop WHERE id >= lowest';`,
    )
  }, 60_000)

  test('rows are the features of a collection', async () => {
    const answer = await wharf.root.get(`${SHOP}?select=id,name,point&order=id`, { headers: GEOJSON })
    expect(answer.status, answer.text).toBe(200)
    expect(answer.headers['content-type']).toBe('application/geo+json; charset=utf-8')
    expect(answer.headers['content-range']).toBe('0-1/*')
    expect(shown(answer)).toEqual(
      collection(feature(1, [-71.5, 42.25], { name: 'North' }), feature(2, [10.5, 60], { name: 'South' })),
    )
  })

  test('the geometry is the one selected, embedded rows are properties, and no rows are no features', async () => {
    const area = await wharf.root.get(`${SHOP}?select=id,area&id=eq.1`, { headers: GEOJSON })
    expect(shown(area)).toMatchObject({ features: [{ geometry: { type: 'Polygon' }, properties: { id: 1 } }] })
    const embedded = await wharf.root.get(`${SHOP}?select=id,point,beacon(id)&id=eq.1`, { headers: GEOJSON })
    expect(shown(embedded)).toEqual(collection(feature(1, [-71.5, 42.25], { beacon: [{ id: 1 }, { id: 2 }] })))
    expect(shown(await wharf.root.get(`${SHOP}?id=gt.9`, { headers: GEOJSON }))).toEqual(collection())
  })

  test('rows without a geometry are refused, and JSON has geometries as objects', async () => {
    expect((await wharf.root.get(`${SHOP}?select=id`, { headers: GEOJSON })).status).toBe(400)
    const plain = await wharf.root.get(`${SHOP}?select=point&id=eq.2`)
    expect(plain.json).toMatchObject([{ point: { type: 'Point', coordinates: [10.5, 60] } }])
  })

  test('PostgREST’s client has them by geojson()', async () => {
    const map = new PostgrestClient(`${wharf.url}/content/map/live`, {
      headers: { Authorization: `Bearer ${ROOT_TOKEN}` },
    })
    const { data, error } = await map.from('shop').select('id,point').eq('id', 2).geojson()
    expect(error).toBeNull()
    expect(data).toEqual(collection(feature(2, [10.5, 60])))
  })

  test('a reference is known by its form', async () => {
    const json = await wharf.root.get(`${SHOP}?select=id,point`)
    const etag = json.headers.etag ?? ''
    expect((await wharf.root.get(`${SHOP}?select=id,point`, { headers: { 'if-none-match': etag } })).status).toBe(304)
    const headers = { ...GEOJSON, 'if-none-match': etag }
    expect((await wharf.root.get(`${SHOP}?select=id,point`, { headers })).status).toBe(200)
  })

  test('what a function returns, and what a write has written, is shown alike', async () => {
    const called = await wharf.root.get('/content/map/live/rpc/shops?lowest=2&select=id,point', { headers: GEOJSON })
    expect(shown(called)).toEqual(collection(feature(2, [10.5, 60])))
    const headers = { ...GEOJSON, prefer: 'return=representation' }
    const written = await wharf.root.post(`${SHOP}?select=id,point`, {
      json: { id: 3, point: 'SRID=4326;POINT(1 2)' },
      headers,
    })
    expect([written.status, written.headers['content-type']]).toEqual([201, 'application/geo+json; charset=utf-8'])
    expect(shown(written)).toEqual(collection(feature(3, [1, 2])))
    const changed = await wharf.root.patch(`${SHOP}?id=eq.3&select=id,point`, {
      json: { point: { type: 'Point', coordinates: [3, 4] } },
      headers,
    })
    expect(shown(changed)).toEqual(collection(feature(3, [3, 4])))
    const gone = await wharf.root.delete(`${SHOP}?id=eq.3&select=id,point`, { headers })
    expect(shown(gone)).toEqual(collection(feature(3, [3, 4])))
  })
})
