import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parsePostgresAddress } from '../../../src/database/address/parse-address.ts'
import { resolveAddress } from '../../../src/database/address/resolve-address.ts'
import type { ServerConnection } from '../../../src/database/address/server-connection.ts'

type Variables = Readonly<Record<string, string>>

let home: string
let warnings: string[]
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'wharf-test-home-'))
  warnings = []
})
afterEach(() => rm(home, { recursive: true, force: true }))

/** As the command line reads it, for a user `ann`. */
async function resolveHere(address: string, variables: Variables = {}): Promise<ServerConnection> {
  const environment = {
    variables,
    homeFolder: home,
    userName: 'ann',
    warn: (message: string) => void warnings.push(message),
  }
  return (await resolveAddress(parsePostgresAddress(address), { environment, mayNameFiles: true })).first
}

/** As a service reads the address of somebody else. */
const resolveElsewhere = async (address: string): Promise<ServerConnection> =>
  (await resolveAddress(parsePostgresAddress(address))).first

async function writeHome(path: string, text: string, mode = 0o600): Promise<string> {
  const file = join(home, path)
  await mkdir(join(file, '..'), { recursive: true })
  await writeFile(file, text)
  await chmod(file, mode)
  return file
}

test('what an address leaves out is what is usual', async () => {
  expect(await resolveHere('postgres://db')).toMatchObject({
    name: 'postgres://ann@db:5432/ann',
    host: 'db',
    port: 5432,
    user: 'ann',
    database: 'ann',
  })
  expect((await resolveHere('postgres://', { PGPORT: '1' })).name).toBe('postgres://ann@localhost:1/ann')
  await writeFile(join('/tmp', '.s.PGSQL.2'), '')
  try {
    expect((await resolveHere('postgres://:2')).name).toBe('postgres://ann@%2Ftmp:2/ann')
  } finally {
    await rm(join('/tmp', '.s.PGSQL.2'))
  }
})

test('the name of an address has neither its password nor its parameters', async () => {
  const address = 'postgres://a%20b:secret@[::1]:5433/app?application_name=secret&options=secret&schema=public'
  expect((await resolveHere(address)).name).toBe('postgres://a%20b@[::1]:5433/app')
})

test('the address comes before the service, the service before the environment', async () => {
  await writeHome(
    '.pg_service.conf',
    '# mine\n[other]\nhost=other\n[app]\nhost=service\nuser=from_service\nport=7\nport=8\n',
  )
  const variables = {
    PGHOST: 'environment',
    PGUSER: 'from_environment',
    PGPORT: '9',
    PGDATABASE: 'from_environment',
    PGPASSWORD: 'p',
    PGCONNECT_TIMEOUT: '3',
    PGAPPNAME: 'mine',
    PGOPTIONS: '-c geqo=off',
  }
  const found = { host: 'address', user: 'from_service', port: 7, database: 'from_environment', password: 'p' }
  for (const resolved of [
    await resolveHere('postgres://address?service=app', variables),
    await resolveHere('postgres://address', { ...variables, PGSERVICE: 'app' }),
  ]) {
    expect(resolved).toMatchObject({ ...found, connectTimeoutMs: 3_000, applicationName: 'mine' })
    expect(resolved.options).toBeUndefined()
  }
  expect(await resolveHere('postgres://', variables)).toMatchObject({ host: 'environment', user: 'from_environment' })
})

test('a service is looked for in the file that is named, else at home, and then in that of the system', async () => {
  const file = await writeHome('services', '[app]\nhost=named\n')
  await writeHome('system/pg_service.conf', '[app]\nhost=system\n[all]\nhost=system\n')
  const variables = { PGSYSCONFDIR: join(home, 'system') }
  expect(await resolveHere('postgres://?service=app', variables)).toMatchObject({ host: 'system' })
  await writeHome('.pg_service.conf', '[app]\nhost=home\n')
  expect(await resolveHere('postgres://?service=app', variables)).toMatchObject({ host: 'home' })
  expect(await resolveHere('postgres://?service=all', variables)).toMatchObject({ host: 'system' })
  const named = { ...variables, PGSERVICEFILE: file }
  expect(await resolveHere('postgres://?service=app', named)).toMatchObject({ host: 'named' })
  await expect(resolveHere('postgres://?service=secret')).rejects.toThrow(/^the service that .* in no service file$/)
})

test.each(['host', 'nonsense=1', 'service=other', 'ldap://example'])(
  'a service that says "%s" is refused by its line',
  async (line) => {
    await writeHome('.pg_service.conf', `[app]\nuser=app\n${line}\n`)
    await expect(resolveHere('postgres://?service=app')).rejects.toThrow(/^line 3 of the service file/)
  },
)

describe('a password file', () => {
  test.each([
    ['db:5432:app:ann:secret', 'secret'],
    ['*:*:*:*:any', 'any'],
    ['other:*:*:*:wrong\ndb:*:*:*:right', 'right'],
    ['#db:5432:app:ann:commented\ndb:5432:app:ann:counts\r\n', 'counts'],
    ['db:5432:app:ann:first\n*:*:*:*:second', 'first'],
    [String.raw`db:5432:app:ann:a\:b\\c*`, String.raw`a:b\c*`],
    [String.raw`d\b:5432:app:ann:escaped`, 'escaped'],
    [String.raw`\*:5432:app:ann:star`, undefined],
    ['db:5433:app:ann:port', undefined],
    ['db:5432:app:bob:user', undefined],
    ['db:5432:*p:ann:part', undefined],
    ['db:5432:app:ann', undefined],
    ['db:5432:app:ann:', undefined],
  ])('with "%s" gives %s', async (text, password) => {
    await writeHome('.pgpass', text)
    expect((await resolveHere('postgres://db/app')).password).toBe(password)
  })

  test('has fields with colons', async () => {
    await writeHome('.pgpass', String.raw`\:\:1:5432:a\:b:a\\b:secret`)
    expect(await resolveHere('postgres://a%5Cb@[::1]/a%3Ab')).toMatchObject({ password: 'secret' })
  })

  test('is looked into for "localhost" where the usual socket is connected to', async () => {
    await writeHome('.pgpass', 'localhost:*:*:*:secret')
    expect(await resolveHere('postgres:///app?host=/tmp')).toMatchObject({ password: 'secret' })
    expect((await resolveHere('postgres:///app?host=/srv')).password).toBeUndefined()
  })

  test('counts for less than a password, and is the one that is named', async () => {
    await writeHome('.pgpass', '*:*:*:*:home')
    const named = await writeHome('passwords', '*:*:*:*:named')
    expect((await resolveHere('postgres://db', { PGPASSFILE: named })).password).toBe('named')
    expect((await resolveHere(`postgres://db?passfile=${named}`)).password).toBe('named')
    expect((await resolveHere('postgres://db', { PGPASSWORD: 'environment' })).password).toBe('environment')
    expect((await resolveHere('postgres://ann:given@db', { PGPASSWORD: 'environment' })).password).toBe('given')
    expect(warnings).toEqual([])
  })

  test('that others may read is left out with a warning', async () => {
    await writeHome('.pgpass', '*:*:*:*:secret', 0o640)
    expect((await resolveHere('postgres://db')).password).toBeUndefined()
    expect(warnings).toEqual([expect.stringContaining('others have access to it; "chmod 0600"')])
  })
})

test('an address of somebody else is filled in with nothing but the port', async () => {
  process.env.PGPASSWORD = 'environment'
  try {
    expect(await resolveElsewhere('postgres://app@db/shop')).toEqual({
      name: 'postgres://app@db:5432/shop',
      host: 'db',
      port: 5432,
      user: 'app',
      database: 'shop',
      encryption: expect.objectContaining({ check: 'nothing' }),
    })
  } finally {
    delete process.env.PGPASSWORD
  }
  await expect(resolveElsewhere('postgres://app@/shop')).rejects.toThrow('names no host')
  await expect(resolveElsewhere('postgres://db/shop')).rejects.toThrow('names no login')
  await expect(resolveElsewhere('postgres://app@db')).rejects.toThrow('names no database')
})

test.each([
  ['sslkey=/etc/shadow', 'sslkey'],
  ['sslcert=/etc/shadow', 'sslcert'],
  ['sslrootcert=/etc/shadow', 'sslrootcert'],
  ['sslcrl=/etc/shadow', 'sslcrl'],
  ['passfile=/etc/shadow', 'passfile'],
  ['service=app', 'service'],
  ['servicefile=/etc/shadow', 'servicefile'],
  ['host=/tmp', 'a Unix socket'],
  ['host=@wharf', 'a Unix socket'],
  ['sslrootcert=system&sslkey=/etc/shadow', 'sslkey'],
])('an address of somebody else does not name files here: %s', async (parameters, named) => {
  await expect(resolveElsewhere(`postgres://app@db/shop?${parameters}`)).rejects.toThrow(
    new RegExp(`^the address (sets|names) ${named}\\b`),
  )
})

test.each([
  ['gssencmode=require', 'gssencmode'],
  ['target_session_attrs=read-write', 'target_session_attrs'],
  ['require_auth=secret', 'require_auth'],
  ['sslcrldir=secret', 'sslcrldir'],
  ['sslsni=0', 'sslsni'],
  ['replication=database', 'replication'],
  ['client_encoding=secret', 'client_encoding'],
  ['keepalives_idle=1', 'keepalives_idle'],
  ['sslmode=secret', 'sslmode'],
  ['channel_binding=secret', 'channel_binding'],
  ['connect_timeout=secret', 'connect_timeout'],
  ['port=secret', 'port'],
  ['host=secret,other', 'several hosts'],
  ['port=65536', 'port'],
  ['hostaddr=secret', 'hostaddr'],
  ['sslmode=verify-full', 'sslrootcert'],
  ['sslmode=verify-ca', 'sslrootcert'],
  ['sslmode=require&sslrootcert=system', 'sslrootcert'],
  ['sslrootcert=/secret', 'sslrootcert'],
  ['sslnegotiation=direct', 'sslnegotiation'],
  ['sslmode=require&ssl_min_protocol_version=TLSv1.3&ssl_max_protocol_version=TLSv1.2', 'ssl_min_protocol_version'],
])('what cannot be honoured is refused by name: %s', async (parameters, named) => {
  const refused = resolveHere(`postgres://app:secret@db/shop?${parameters}`)
  await expect(refused).rejects.toMatchObject({ code: 'WRONG_USE', message: expect.stringContaining(named) })
  await expect(refused).rejects.not.toThrow('secret')
})

test('a variable that asks for what cannot be honoured is refused as the parameter is', async () => {
  await expect(resolveHere('postgres://db', { PGGSSENCMODE: 'require' })).rejects.toThrow('PGGSSENCMODE')
  expect(await resolveHere('postgres://db?gssencmode=disable', { PGGSSENCMODE: 'require' })).toMatchObject({
    host: 'db',
  })
})

test('a time limit of 0 is none of the address', async () => {
  expect((await resolveHere('postgres://db?connect_timeout=0')).connectTimeoutMs).toBeUndefined()
  expect((await resolveHere('postgres://db?connect_timeout=7')).connectTimeoutMs).toBe(7_000)
})
