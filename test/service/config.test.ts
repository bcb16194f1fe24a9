import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { loadConfig, VARIABLES } from '../../src/config.ts'
import { type AppError, isAppError } from '../../src/errors.ts'

function failureOf(environment: Record<string, string>): AppError {
  try {
    loadConfig(environment)
  } catch (error) {
    if (isAppError(error, 'CONFIG_INVALID')) return error
    throw error
  }
  throw new Error('the configuration was taken')
}

test('.env.example has every variable, and no other', () => {
  const names = [...readFileSync('.env.example', 'utf8').matchAll(/^(\w+)=/gm)].map(([, name]) => name)
  expect(names.toSorted()).toEqual(VARIABLES.toSorted())
})

test('.env.example taken as it is gives the defaults', () => {
  const lines = [...readFileSync('.env.example', 'utf8').matchAll(/^(\w+)=(.*)$/gm)]
  expect(loadConfig(Object.fromEntries(lines.map(([, name, value]) => [name, value])))).toEqual(loadConfig({}))
})

test('a variable that is set to nothing counts as missing', () => {
  expect(loadConfig({ WHARF_PORT: '' }).port).toBe(4000)
})

test('everything that is wrong is said at once, by name and without its value', () => {
  const secret = 'too-short-a-secret'
  const { faults } = failureOf({
    DATABASE_URL: 'mysql://user:pass@host/db',
    WHARF_PORT: '99999',
    WHARF_ROOT_TOKEN: secret,
    WHARF_LOG_LEVEL: 'loud',
    WHARF_PROJECT: 'Shop!',
    WHARF_HOST: 'http://0.0.0.0:4000',
  })
  const said = faults.map(({ detail }) => detail)
  expect(said).toHaveLength(6)
  const names = ['DATABASE_URL', 'WHARF_PORT', 'WHARF_ROOT_TOKEN', 'WHARF_LOG_LEVEL', 'WHARF_PROJECT', 'WHARF_HOST']
  for (const name of names) {
    expect(said.some((detail) => detail.startsWith(`${name} `))).toBe(true)
  }
  expect(said.join()).not.toMatch(/too-short|pass@host/)
})

test.each(['0.0.0.0', '::', '::1', 'localhost', 'wharf_1.internal.example'])('a service may listen on %s', (host) => {
  expect(loadConfig({ WHARF_HOST: host }).host).toBe(host)
})

test('Sentinels of Redis are hosts, on their usual port where none is named', () => {
  const { redisSentinels } = loadConfig({ WHARF_REDIS_SENTINELS: 'one.example, [::1]:26380' })
  expect(redisSentinels).toEqual([
    { host: 'one.example', port: 26_379 },
    { host: '::1', port: 26_380 },
  ])
  const { faults } = failureOf({ WHARF_REDIS_SENTINELS: 'redis://one.example' })
  expect(faults).toEqual([{ detail: expect.stringMatching(/^WHARF_REDIS_SENTINELS must be hosts/) }])
})

test('nodes of a cluster of Redis are hosts, on the usual port where none is named, and have no Sentinels', () => {
  const { redisCluster } = loadConfig({ WHARF_REDIS_CLUSTER: 'two.example, three.example:6380' })
  expect(redisCluster).toEqual([
    { host: 'two.example', port: 6379 },
    { host: 'three.example', port: 6380 },
  ])
  const { faults } = failureOf({ WHARF_REDIS_CLUSTER: 'two.example', WHARF_REDIS_SENTINELS: 'one.example' })
  expect(faults).toEqual([{ detail: 'WHARF_REDIS_SENTINELS and WHARF_REDIS_CLUSTER exclude each other' }])
})

test('where clients reach the bucket is an origin, with nothing behind it', () => {
  const given = 'https://s3.eu-central-1.amazonaws.com'
  expect(loadConfig({ WHARF_ARTIFACTS_PUBLIC_URL: `${given}/` }).artifactsPublicUrl).toBe(given)
  for (const wrong of [
    's3.example.org',
    'ftp://s3.example.org',
    `${given}/bucket`,
    'https://key:secret@s3.example.org',
  ]) {
    const { faults } = failureOf({ WHARF_ARTIFACTS_PUBLIC_URL: wrong })
    expect(faults, wrong).toEqual([{ detail: expect.stringMatching(/^WHARF_ARTIFACTS_PUBLIC_URL must be https:/) }])
  }
})

test('the configuration can not be changed', () => {
  expect(Object.isFrozen(loadConfig({}))).toBe(true)
})
