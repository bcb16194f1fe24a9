import { expect, test } from 'vitest'
import { parsePostgresAddress } from '../../../src/database/address/parse-address.ts'
import { isAppError } from '../../../src/errors.ts'

test.each([
  ['postgresql://', {}],
  ['postgres://db.example', { host: 'db.example' }],
  ['postgres://db.example:5433/app', { host: 'db.example', port: '5433', dbname: 'app' }],
  ['postgres://app@db.example/app', { user: 'app', host: 'db.example', dbname: 'app' }],
  ['postgresql://app:p%2Fw%40@db/a%20b', { user: 'app', password: 'p/w@', host: 'db', dbname: 'a b' }],
  ['postgres://app:a:b?c#d+e@db/app', { user: 'app', password: 'a:b?c#d+e', host: 'db', dbname: 'app' }],
  ['postgres://%61pp:@db', { user: 'app', host: 'db' }],
  ['postgres:///app', { dbname: 'app' }],
  ['postgres:///a/b', { dbname: 'a/b' }],
  ['postgres://[2001:db8::1234]/app', { host: '2001:db8::1234', dbname: 'app' }],
  ['postgres://app@[::1]:5433', { user: 'app', host: '::1', port: '5433' }],
  ['postgres://%2Fvar%2Frun%2Fpostgresql:5433/app', { host: '/var/run/postgresql', port: '5433', dbname: 'app' }],
  ['postgres:///app?host=/var/run/postgresql&port=5433', { host: '/var/run/postgresql', port: '5433', dbname: 'app' }],
  ['postgres://db/app?user=other&password=a%3Db', { host: 'db', dbname: 'app', user: 'other', password: 'a=b' }],
  ['postgres://db/app?host=other&sslmode=', { host: 'other', dbname: 'app' }],
  ['postgres://db?port=1&', { host: 'db', port: '1' }],
  ['postgres://db?ssl=true', { host: 'db', sslmode: 'require' }],
  ['postgres://db?options=-c%20geqo%3Doff', { host: 'db', options: '-c geqo=off' }],
  [
    'postgres://db/app?sslmode=verify-full&sslrootcert=system&channel_binding=require&application_name=a+b',
    {
      host: 'db',
      dbname: 'app',
      sslmode: 'verify-full',
      sslrootcert: 'system',
      channel_binding: 'require',
      application_name: 'a+b',
    },
  ],
])('%s is read as libpq reads it', (text, parameters) => {
  expect(parsePostgresAddress(text)).toEqual({ parameters, schemas: [] })
})

test('an address may name several schemas', () => {
  const { parameters, schemas } = parsePostgresAddress('postgres://db/app?schema=public&schema=Sch%26ma&schema=public')
  expect({ parameters, schemas }).toEqual({ parameters: { host: 'db', dbname: 'app' }, schemas: ['public', 'Sch&ma'] })
})

test.each([
  ['mysql://app:secret@db/app', 'is not understood'],
  ['postgres:app:secret@db', 'is not understood'],
  ['postgres://app:secret@a,b/app', 'several hosts'],
  ['postgres://app:secret@a:1,b:2/app', 'several hosts'],
  ['postgres://app:sec/ret@db:5432/app', 'is not understood'],
  ['postgres://app:12/secret@db:5432/app', 'is not understood'],
  ['postgres://app:p@secret@db:5432/app', 'host or the port'],
  ['postgres://app:secret@db:54x/app', 'host or the port'],
  ['postgres://app:secret@::1/app', 'host or the port'],
  ['postgres://app:secret@[::1]x/app', 'host or the port'],
  ['postgres://app:secret@[]/app', 'host or the port'],
  ['postgres://app:secret%@db/app', 'begin an encoded character'],
  ['postgres://app:secret%ff@db/app', 'begin an encoded character'],
  ['postgres://app:secret%00@db/app', 'begin an encoded character'],
  ['postgres://app@db/app?password', 'parameters of the address are not understood'],
  ['postgres://app@db/app?password=sec=ret', 'parameters of the address are not understood'],
  ['postgres://app@db/app?passwort=secret', 'is none that libpq knows'],
  ['postgres://app:secret@db/app?pgbouncer=true', '"pgbouncer" in the address is meant for other programs'],
  ['postgres://app@db/app?port=1&secret=1', 'parameter 2 of the address'],
  ['postgres://app@db/app?secret=1', 'is none that libpq knows'],
  ['postgres://app@db/app?constructor=secret', 'is none that libpq knows'],
  ['postgres://app:secret@db/app?schema=', 'without a name'],
])('%s is refused, and nothing of it is quoted', (text, message) => {
  expect(() => parsePostgresAddress(text)).toThrow(message)
  try {
    parsePostgresAddress(text)
  } catch (error) {
    expect(isAppError(error, 'WRONG_USE')).toBe(true)
    expect(String(error)).not.toMatch(/secret|sec\b|ret\b|passwort/)
  }
})
