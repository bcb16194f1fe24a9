import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOSTILE, hasChromium, openConsole } from '../support/console/console-page.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const SQL = `
  CREATE TABLE artist (id bigint PRIMARY KEY, name text NOT NULL);
  CREATE TABLE "Song ""x"" / é" (id int PRIMARY KEY, artist_id bigint REFERENCES artist, price numeric, tags text[], data jsonb, "on" boolean);
  CREATE TABLE note_10 (body text);
  CREATE TABLE note_9 (body text);
  CREATE TABLE letter (body text);
  INSERT INTO letter VALUES (repeat('x', 301)), (E'a\\nb\\nc\\nd\\ne\\nf\\ng');
  INSERT INTO note_9 VALUES (E'a\\u202eb\\u0007');
  COMMENT ON TABLE artist IS '${HOSTILE}';
  INSERT INTO artist SELECT 9007199254740990 + n, 'artist ' || n FROM generate_series(1, 120) n;
  INSERT INTO artist VALUES (1, '${HOSTILE}');
  INSERT INTO "Song ""x"" / é" VALUES (1, 1, 12345678901234567890.1230, '{a,"b c"}', '{"n": 1.50, "list": [null, "x"]}', true), (2, NULL, NULL, NULL, NULL, NULL)`

describe.skipIf(!hasChromium)('who looks at rows in a browser', () => {
  let wharf: TestWharf
  const console = openConsole(() => wharf)
  const { signIn, goTo, heading, expectMessage, assertAccessible } = console
  const cells = () => console.page.getByRole('cell').allTextContents()

  beforeAll(async () => {
    wharf = await startWharf()
    await createProject(wharf, 'shop', SQL)
  })
  afterAll(() => wharf.close())

  test('sees the tables of a stage with their columns and relations', async () => {
    await signIn()
    await console.page.getByRole('link', { name: 'Data' }).click()
    await console.page.getByRole('link', { name: 'shop, live' }).click()
    await heading('artist').waitFor()
    await console.page.getByText('artist_id → artist (id)').waitFor()
    await console.page.getByText('121 rows').waitFor()
    await assertAccessible('stage')
  })

  test('sees tables in the order of the numbers in their names', async () => {
    await signIn()
    await goTo('/data/shop/live')
    await expect
      .poll(() => console.page.getByRole('heading', { level: 2 }).allTextContents())
      .toEqual(['artist', 'letter', 'note_9', 'note_10', 'Song "x" / é'])
  })

  test('sees what turns a value around, or is not drawn', async () => {
    await signIn()
    await goTo('/data/shop/live/note_9')
    await expect.poll(cells).toEqual(['a\\u{202e}b\\u{7}'])
  })

  test('sees values of every type as they are, with all their digits', async () => {
    await signIn()
    await goTo(`/data/shop/live/${encodeURIComponent('Song "x" / é')}`)
    await expect
      .poll(cells)
      .toEqual([
        ...['1', '1', '12345678901234567890.1230', '["a", "b c"]', '{"n": 1.50, "list": [null, "x"]}', 'true'],
        ...['2', 'null', 'null', 'null', 'null', 'null'],
      ])
    await assertAccessible('rows')
  })

  test('sees the beginning of what is long, that there is more, and all of it when asked', async () => {
    await signIn()
    await goTo('/data/shop/live/letter')
    await expect.poll(cells).toHaveLength(2)
    const beginnings = [`${'x'.repeat(300)}… Show all 301 characters`, 'a\nb\nc\nd\ne\nf… Show all 13 characters']
    expect(await cells()).toEqual(beginnings)
    await assertAccessible('long values')
    await console.page.getByRole('button', { name: 'Show all 13 characters' }).press('Enter')
    await expect.poll(cells).toEqual([beginnings[0], 'a\nb\nc\nd\ne\nf\ng'])
  })

  test('goes through pages, and filters', async () => {
    await signIn()
    await goTo('/data/shop/live/artist')
    await expect.poll(cells).toHaveLength(100)
    expect((await cells()).slice(0, 4)).toEqual(['1', HOSTILE, '9007199254740991', 'artist 1'])
    await console.page.getByRole('button', { name: 'Next rows' }).click()
    await expect.poll(async () => (await cells())[1]).toBe('artist 50')
    await console.page.getByRole('button', { name: 'Next rows' }).click()
    await expect.poll(cells).toHaveLength(42)
    await console.page.getByLabel('Column').selectOption('name')
    await console.page.getByLabel('Comparison').selectOption('is like (* for anything)')
    await console.page.getByLabel('Value').fill('artist 11*')
    await console.page.getByRole('button', { name: 'Filter' }).click()
    await expect.poll(cells).toHaveLength(22)
  })

  test('sees of each event when it was and by whom, and where tables changed, the tables', async () => {
    const ann = await createToken(wharf, 'admin', 'shop', { name: 'Ann' })
    await ann.client.post('/content/shop/live/note_10', { json: { body: 'of Ann' } })
    const { client } = await createToken(wharf, 'editor', 'shop')
    await client.post('/content/shop/live/note_10', { json: { body: 'of another' } })
    const events = console.page.getByRole('listitem')
    const time = '\\w{3} \\d+ \\w+,? \\d\\d:\\d\\d, .+ (ago|now)'
    await signIn()
    await goTo('/log/shop/live')
    await events.filter({ hasText: new RegExp(`^${time} 1 row added to note_10, by editor of shop`) }).waitFor()
    await events.filter({ hasText: new RegExp(`^${time} 1 row added to note_10, by Ann`) }).waitFor()
    const changed = new RegExp(`^${time} structure changed, by the root token or SQL: `)
    await assertAccessible('event log')
    await events.filter({ hasText: changed }).first().getByRole('link', { name: 'the tables as they are now' }).click()
    await heading('note_10').waitFor()
    await goTo('/')
    await console.page.getByRole('button', { name: 'Sign out' }).click()
    await signIn(ann.token)
    await goTo('/log/shop/live')
    await events.filter({ hasText: /note_10, by Ann/ }).waitFor()
    await events.filter({ hasText: /note_10, by the token [0-9a-f]{8}/ }).waitFor()
  })

  test('is told what is wrong with a filter, and what the token may not read', async () => {
    await signIn()
    await goTo('/data/shop/live/artist')
    await console.page.getByLabel('Value').fill('no number')
    expectMessage('400')
    await console.page.getByRole('button', { name: 'Filter' }).click()
    await console.page.getByRole('alert').getByText('no number').waitFor()
    await goTo('/data/shop/live/nothing')
    await console.page.getByText('There is no such table.').waitFor()
    await wharf.root.put('/projects/shop/roles/blind', { json: { content: { import: true } } })
    const { token } = await createToken(wharf, 'blind', 'shop')
    await console.page.getByRole('button', { name: 'Sign out' }).click()
    await signIn(token)
    expectMessage('403')
    await goTo('/data/shop/live')
    await expect
      .poll(() => console.page.getByRole('alert').allTextContents())
      .toContainEqual(expect.stringContaining('content.read'))
  })
})
