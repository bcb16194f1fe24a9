import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contentsOf } from '../support/archives/import.ts'
import { HOSTILE, hasChromium, openConsole } from '../support/console/console-page.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const TABLES = 'CREATE TABLE item (id int PRIMARY KEY)'

describe.skipIf(!hasChromium)('in a browser', () => {
  let wharf: TestWharf
  const console = openConsole(() => wharf)
  const { signIn, goTo, heading, assertAccessible } = console
  const button = (name: string) => console.page.getByRole('button', { name, exact: true })
  const field = (name: string) => console.page.getByLabel(name, { exact: true })

  beforeAll(async () => {
    wharf = await startWharf({ worker: true })
    await createProject(wharf, 'shop', `${TABLES}; INSERT INTO item VALUES (1), (2)`)
    await createProject(wharf, 'staging', `${TABLES}; INSERT INTO item VALUES (7)`)
  })
  afterAll(() => wharf.close())

  test('a token is made, shown once, used in another tab, and revoked while it is used there', async () => {
    await signIn()
    await console.page.getByRole('link', { name: 'People' }).click()
    await field('Who or what it is for').fill(HOSTILE)
    await field('Project').selectOption('shop')
    await field('Role').selectOption('viewer: read rows')
    await field('Ends after this many days (empty: never)').fill('7')
    await button('Make the token').click()
    const token = await console.page.getByRole('code').textContent()
    await assertAccessible('the new token')
    await button('I have it').click()
    await console.page.getByText('viewer of shop').waitFor()
    expect(await console.page.content()).not.toContain(token)
    await assertAccessible('tokens')

    const other = await console.browser.context.newPage()
    await other.goto(wharf.url)
    await other.getByLabel('Token').fill(token ?? '')
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('link', { name: 'Jobs' }).click()
    await other.getByRole('heading', { name: 'Jobs' }).waitFor()
    await button(`Revoke: ${HOSTILE}`).click()
    await button(`Revoke for good: ${HOSTILE}`).click()
    await console.page.getByText(/^revoked/).waitFor()
    await other.getByText('The token is not valid any more.').waitFor()
    expect(await other.evaluate('window.hacked')).toBeUndefined()
    await other.close()
  })

  test('a token that is not the root token sees what it may do, in words, and nobody else', async () => {
    const { token } = await createToken(wharf, 'viewer', 'shop')
    await signIn(token)
    await goTo('/people')
    await console.page.getByText('viewer: read rows').waitFor()
    expect(await heading('Tokens').count()).toBe(0)
  })

  test('the roles of a project are opened, and a new one is made there that may do nothing yet', async () => {
    await signIn()
    await goTo('/people')
    await field('Roles of a project').selectOption('shop')
    await button('Show the roles').click()
    await heading('Roles of shop').waitFor()
    await field('Name').fill('public')
    await button('Make the role').click()
    await console.page.getByLabel('public: read rows').waitFor()
    expect(await console.page.locator('[aria-label^="public:"]:checked').count()).toBe(0)
    await console.page.getByRole('link', { name: 'People and rights' }).click()
    await heading('People and rights').waitFor()
  })

  test('a project is transferred over another one, after its name was typed, and that is undone', async () => {
    const before = await contentsOf(wharf, 'staging')
    await signIn()
    await goTo('/transfer')
    await console.page.getByText('replaces all rows of a project by a copy of those of another').waitFor()
    await console.page.getByText('Choose both projects first.').waitFor()
    await field('From').selectOption('shop')
    await field('To').selectOption('staging')
    await console.page.getByText('Type the project’s name first.').waitFor()
    expect(await button('Transfer').isDisabled()).toBe(true)
    await console.page.getByRole('row', { name: 'item 1 2' }).waitFor()
    await assertAccessible('transfer')
    await field('Type staging to replace what it has').fill('staging')
    await button('Transfer').click()
    await console.page.getByText('succeeded').waitFor()
    expect(await contentsOf(wharf, 'staging')).toEqual(await contentsOf(wharf, 'shop'))
    await button('Undo …').click()
    await button('Undo the transfer').click()
    await console.page.getByText('This transfer was undone on').waitFor()
    expect(await contentsOf(wharf, 'staging')).toEqual(before)
  })

  test('a transfer that fails says why', async () => {
    await createProject(
      wharf,
      'different',
      `${TABLES}; ALTER TABLE item ADD name text; INSERT INTO item VALUES (1, 'x')`,
    )
    await signIn()
    await goTo('/transfer')
    await field('From').selectOption('shop')
    await field('To').selectOption('different')
    await field('Type different to replace what it has').fill('different')
    await button('Transfer').click()
    const error = console.page.getByRole('region', { name: 'Error' })
    await error.getByText('name').first().waitFor()
    // Once.
    const [whole = ''] = await error.getByRole('paragraph').allTextContents()
    for (const fault of await error.getByRole('listitem').allTextContents()) expect(whole).not.toContain(fault)
  })
})
