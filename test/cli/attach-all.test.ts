import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type CliResult, runCommand, spawnWharf } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type ServerOfMany, startServerOfMany } from '../support/servers/server-of-many.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const programs = installedPrograms()

/** Everything that the server or a command has said. */
const said: string[] = []

describe.runIf(programs !== undefined)('a server of many databases', () => {
  let many: ServerOfMany
  let wharf: TestWharf

  beforeAll(async () => {
    many = await startServerOfMany(programs ?? '')
    await many.makeDatabase('shop')
    await many.makeDatabase('My Shop', 'CREATE TABLE a (n int); CREATE SCHEMA "Sales"; CREATE TABLE "Sales".b (n int)')
    await many.makeDatabase('empty', 'CREATE EXTENSION pg_trgm SCHEMA public; CREATE SCHEMA nothing')
    await many.makeDatabase('hidden')
    await many.run('REVOKE CONNECT ON DATABASE hidden FROM PUBLIC')
    await many.makeDatabase('scratch_1')
    wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: many.address.host } })
  })
  afterAll(async () => {
    await wharf?.close()
    await many?.remove()
  })

  const administer = async (...args: readonly string[]): Promise<CliResult> => {
    const variables = { PGPASSWORD: many.password, PGSSLMODE: 'disable' }
    const result = await runCommand([...args, '--server', dsnOf(wharf)], { variables })
    said.push(result.stdout, result.stderr)
    return result
  }
  const given = (query = ''): string => Object.assign(new URL(many.address), { password: '' }).href + query
  const attachAll = (...args: readonly string[]) =>
    administer('project:attach', '--all', given('/?exclude=scratch*,postgres'), '--name', 'many', ...args)
  const found = ({ stdout }: CliResult) => {
    const { databases } = JSON.parse(stdout) as { databases: { database: string; project: string; outcome: string }[] }
    return databases.map(({ database, project, outcome }) => [database, project, outcome])
  }
  const slugs = async (): Promise<unknown> => {
    const { projects } = JSON.parse((await administer('project:list', '--json')).stdout)
    return projects.map(({ slug }: { slug: string }) => slug)
  }

  test('each database is attached, by a slug of its own, and what is not is told with the reason', async () => {
    const result = await attachAll()
    expect(result).toMatchObject({ code: 1, stderr: '' })
    const grant = 'the login may not connect to it: GRANT CONNECT ON DATABASE "hidden" TO "backup"'
    expect(result.stdout.replace(/ {2,}/g, ' | ').replace(/ +$/gm, '').split('\n')).toEqual([
      `server many: postgres://backup@${many.address.host}/postgres`,
      'database | project | outcome | reason',
      'My Shop | my-shop | attached sales (schema Sales), public (schema public)',
      'empty | empty | attached live (schema public)',
      `hidden | - | refused | ${grant}`,
      'postgres | - | excluded',
      'scratch_1 | - | excluded',
      'shop | shop | attached live (schema public)',
      '',
    ])
    expect(await slugs()).toEqual(['empty', 'my-shop', 'shop'])
    const archive = await wharf.root.post('/export', { json: { projects: [{ slug: 'shop' }, { slug: 'my-shop' }] } })
    expect(archive.status).toBe(200)
    expect((await administer('project:show', 'shop')).stdout).toMatch(/\n {2}server +many\n/)
    expect((await administer('project:servers')).stdout).toMatch(/\nmany .* scratch\*,postgres +my-shop, empty, shop\n/)
  })

  test('another look attaches what has come since, databases and schemas, and names what is gone', async () => {
    await many.run('CREATE SCHEMA later; CREATE TABLE later.t (n int)', 'shop')
    await many.makeDatabase('shop_2')
    await many.makeDatabase('dropped')
    const again = ['project:attach', '--all', 'many', '--json']
    const looked = await administer(...again)
    expect(found(looked)).toContainEqual(['dropped', 'dropped', 'attached'])
    expect(looked.stdout).toContain('{"slug":"later","schema":"later"}')
    await many.run('DROP DATABASE dropped')
    expect(found(await attachAll('--json'))).toEqual([
      ['My Shop', 'my-shop', 'already attached'],
      ['dropped', 'dropped', 'gone'],
      ['empty', 'empty', 'already attached'],
      ['hidden', null, 'refused'],
      ['postgres', null, 'excluded'],
      ['scratch_1', null, 'excluded'],
      ['shop', 'shop', 'already attached'],
      ['shop_2', 'shop_2', 'already attached'],
    ])
    await administer('project:detach', 'dropped', '--yes')
    await administer('project:detach', 'shop_2', '--yes')
    expect(found(await administer(...again))).toContainEqual(['shop_2', null, 'excluded'])
  })

  test('no two databases are one project, and a database is no two projects', async () => {
    await many.makeDatabase('MY-SHOP')
    await many.makeDatabase('数据')
    await administer('project:attach', 'by-hand', given('/shop_2'))
    const { stdout } = await attachAll('--change')
    const bySelf = 'attach it by itself \\(project:attach <slug> <address>\\), or exclude it'
    expect(stdout).toMatch(new RegExp(`\nMY-SHOP +- +refused +there is a project "my-shop" already: ${bySelf}\n`))
    expect(stdout).toMatch(new RegExp(`\n数据 +- +refused +no slug can be made of its name: ${bySelf}\n`))
    expect(stdout).toMatch(/\nshop_2 +by-hand +already attached *\n/)
    await many.run('DROP DATABASE "MY-SHOP"')
    await many.run('DROP DATABASE "数据"')
    // What Wharf has made for a project of its own is that project's.
    await administer('project:create', 'own', '--own-database')
    const [own] = await wharf.database.query<{ name: string }>(
      "SELECT own_database AS name FROM control.project WHERE slug = 'own'",
    )
    await many.makeDatabase(own?.name ?? '', '')
    expect(found(await administer('project:attach', '--all', 'many', '--json'))).toContainEqual([
      own?.name,
      null,
      'excluded',
    ])
    await many.run(`DROP DATABASE ${own?.name}`)
    await administer('project:delete', 'own', '--yes')
    const prefixed = await administer('project:attach', '--all', given(), '--name', 'twice', '--prefix', 'b-', '--json')
    expect(found(prefixed)).toContainEqual(['shop', 'shop', 'already attached'])
    expect(found(prefixed)).toContainEqual(['scratch_1', 'b-scratch_1', 'attached'])
    expect((await administer('project:detach', '--all', 'twice', '--yes')).stdout).toMatch(
      /^detached server twice, projects: (b-postgres, b-scratch_1|b-scratch_1, b-postgres)\n$/,
    )
    await administer('project:detach', 'by-hand', '--yes')
  })

  test('one address is that of all: another password is given to the server, not to a project', async () => {
    const changed = `changed-${many.password}`
    await many.changePassword(changed)
    onTestFinished(() => many.changePassword(many.password))
    await wharf.container.attached.closeAll()
    const exportShop = () => wharf.root.post('/export', { json: { projects: [{ slug: 'shop' }] } })
    const refused = await exportShop()
    expect(refused).toMatchObject({ status: 502, json: { type: 'urn:wharf:error:attached-failed' } })
    const single = await administer('project:attach', 'shop', given('/shop'), '--change')
    expect(single.stderr).toContain('is that of the server "many": change that one (project:attach --all --change)')
    const address = Object.assign(new URL(given('/?exclude=scratch*,postgres')), { password: changed }).href
    const body = await wharf.root.put('/attached-servers/many', { json: { address } })
    expect(body.status, body.text).toBe(200)
    expect((await exportShop()).status).toBe(200)
    // What nobody may see of it: its own rows, and all that was said.
    const rows = await wharf.database.query(
      'SELECT (SELECT json_agg(s) FROM control.attached_server s)::text || (SELECT json_agg(a) FROM control.attachment a)::text AS t',
    )
    const seen = [JSON.stringify(rows), wharf.log(), body.text, refused.text, ...said].join('\n')
    expect(seen).toContain('backup')
    expect(seen).not.toContain(many.password)
  })

  test.each<[what: string, args: readonly string[], message: RegExp]>([
    ['a slug beside the address', ['shop', 'ADDRESS', '--all'], /--all takes the address alone/],
    ['schemas', ['ADDRESS', '--all', '--schema', 'public'], /--schema and --stage name those of a single database/],
    ['patterns with an open quote', ['ADDRESS?exclude="a', '--all'], /exclude of the address is not understood/],
    ['a prefix without --all', ['shop', 'ADDRESS', '--prefix', 'x'], /--name and --prefix are for --all/],
    ['exclude without --all', ['shop', 'ADDRESS/shop?exclude=a'], /databases are excluded by project:attach --all/],
    ['no address at all', ['shop'], /the address of the database is missing/],
  ])('%s is wrong use', async (_what, args, message) => {
    const { code, stderr } = await administer(
      'project:attach',
      ...args.map((arg) => arg.replace('ADDRESS', many.address.href)),
    )
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
    expect(stderr).not.toContain(many.password)
  })

  test('over HTTP, hosts are those of the list, addresses and names are checked, and others may not ask', async () => {
    const { root } = wharf
    const attach = (json: object) => root.post('/attached-servers', { json })
    expect((await attach({ address: 'postgres://a:b@db.example' })).status).toBe(403)
    const nonsense = await attach({ address: `${many.address.href}?exclude=%zz` })
    expect(nonsense).toMatchObject({ status: 400, json: { errors: [{ pointer: '/address' }] } })
    expect((await attach({ address: `${many.address.href}?schema=a` })).status).toBe(400)
    const taken = await attach({ address: many.address.href, name: 'many' })
    expect(taken).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining('there is a server "many" already') },
    })
    const wrong = Object.assign(new URL(many.address), { password: 'wrong' }).href
    expect((await attach({ address: wrong, name: 'wrong' })).status).toBe(502)
    const list = await root.get('/attached-servers')
    expect(list).toMatchObject({ status: 200, json: { items: [{ name: 'many', exclude: ['scratch*', 'postgres'] }] } })
  })

  test("the operator's own command line names any server; detaching it leaves its databases as they were", async () => {
    const before = await many.dump('shop')
    const folder = await temporaryFolder()
    const own = await startWharf()
    onTestFinished(own.close)
    const variables = { DATABASE_URL: own.database.url, WHARF_DATA_DIR: folder, PGPASSWORD: many.password }
    const args = ['project:attach', '--all', given('/?exclude=hidden'), '--json']
    const { code, stdout } = await spawnWharf(args, { cwd: folder, variables }).ended
    expect({ code, name: JSON.parse(stdout).name }).toEqual({ code: 0, name: `server-127-0-0-1-${many.address.port}` })
    expect((await administer('project:detach', '--all', 'many', '--yes')).code).toBe(0)
    expect(await slugs()).toEqual([])
    expect((await administer('project:servers')).stdout).toBe('there are no attached servers\n')
    const after = await many.dump('shop')
    expect(after).toEqual(before)
  })
})
