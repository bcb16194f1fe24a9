import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { VARIABLES } from '../../src/config.ts'

const pathOf = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const read = (name: string): string => readFileSync(pathOf(name), 'utf8')
const matches = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found)

const dockerfile = read('Dockerfile')
const compose = read('docker-compose.yml')

test('the image is made of files that are there, and that .dockerignore lets through', () => {
  const sources = matches(dockerfile, /^COPY (?!--from)(.*) \S+$/gm).flatMap((line) => line.split(' '))
  const admitted = matches(read('.dockerignore'), /^!(.+)$/gm)

  expect(sources).toContain('src')
  for (const source of sources) {
    expect(existsSync(pathOf(source)), source).toBe(true)
    expect(admitted, source).toContain(source)
  }
})

test('the image has every folder that the npm package has, but for the documentation', () => {
  const { files } = JSON.parse(read('package.json')) as { files: string[] }
  const copied = dockerfile.slice(dockerfile.lastIndexOf('FROM '))

  for (const file of files.filter((name) => name !== 'docs'))
    expect(copied, file).toMatch(new RegExp(`COPY .*\\b${file}\\b`))
})

test('the secrets of the composition are written to a file, for its owner alone, that npm start does not read', () => {
  const [, commands = ''] = /\n## With Docker\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(read('docs/operations.md')) ?? []
  expect(commands).toMatch(/^umask 077\n[\s\S]*^done > docker\.env$/m)
  expect(commands).toContain('docker compose --env-file docker.env up')
  expect(commands).not.toMatch(/(?<!docker)\.env\b/)
})

test('Wharf is given variables that it reads, and those of the S3 client', () => {
  const environment = /^x-wharf-environment:.*\n((?: {2}.*\n)+)/m.exec(compose)?.[1] ?? ''
  const given = [...matches(environment, /^ {2}([A-Z_]+):/gm), ...matches(dockerfile, /^(?:ENV|\s+)\s*(WHARF_\w+)=/gm)]
  const unknown = given.filter((name) => !VARIABLES.includes(name) && !name.startsWith('AWS_'))

  expect(given).toContain('DATABASE_URL')
  expect(given).toContain('WHARF_DATA_DIR')
  expect(unknown).toEqual([])
})

test('no secret stands in the files, and none has a default', () => {
  const values = [...compose.matchAll(/^\s+(\w*(?:PASSWORD|TOKEN|SECRET|KEY)\w*):(.*)$/gm)]

  expect(values.length).toBeGreaterThanOrEqual(4)
  for (const [line, , value = ''] of values) expect(value.trim(), line).toMatch(/^(\$\{\w+:\?[^}]+\})?$/)
  expect(compose).not.toMatch(/:\/\/[^\s/@$]+:[^\s/@$]+@/)
})

test('images of others stay with one major version, and ports are for this machine alone', () => {
  const images = matches(`${compose}${dockerfile}`, /^\s*(?:image: |ARG NODE_IMAGE=)(\S+)$/gm)
  const others = images.filter((image) => image !== 'wharf:local')
  const ports = matches(compose, /^ +- '?(\S*:\d+)'?$/gm)

  expect(others.toSorted()).toEqual([
    expect.stringMatching(/^node:\d+-/),
    expect.stringMatching(/^postgres:\d+-/),
    expect.stringMatching(/^redis:\d+\.\d+-/),
  ])
  expect(ports.length).toBeGreaterThan(0)
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
})

test('PostgreSQL keeps its data in the volume, where images of 18 and later have it', () => {
  const [major] = matches(compose, /image: postgres:(\d+)/g)

  expect(Number(major)).toBeGreaterThanOrEqual(18)
  expect(compose).toMatch(/^ +- postgres:\/var\/lib\/postgresql$/m)
})

test.each([
  ['the image', dockerfile, /CMD \["node", "-e", "(.*)"\]/],
  ['the API of the composition', compose, /- -e\n\s+- "(.*:4000.*)"/],
  ['a worker of the composition', compose, /- -e\n\s+- "(.*:9464.*)"/],
])('the health check of %s runs, and tells a service that is well from one that is not', async (_, file, pattern) => {
  const script = pattern.exec(file)?.[1] ?? ''
  let status = 200
  const server = createServer((_request, response) => response.writeHead(status).end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const check = async (): Promise<number> => {
    const env = { ...process.env, WHARF_PORT: String(port) }
    const child = spawn(process.execPath, ['-e', script.replace(/:\d{4}/, `:${port}`)], { env, stdio: 'inherit' })
    return (await once(child, 'exit'))[0]
  }

  expect(await check()).toBe(0)
  status = 503
  expect(await check()).toBe(1)
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  expect(await check()).toBe(1)
})
