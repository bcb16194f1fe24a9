import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { VARIABLES } from '../src/config.ts'

const pathOf = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url))
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

test('images of others have a fixed version, and ports are for this machine alone', () => {
  const images = matches(`${compose}${dockerfile}`, /^\s*(?:image: |ARG NODE_IMAGE=)(\S+)$/gm)
  const others = images.filter((image) => image !== 'wharf:local')
  const ports = matches(compose, /^ +- (\S*:\d+)$/gm)

  expect(others.toSorted()).toEqual([
    expect.stringMatching(/^node:\d+\.\d+\.\d+-/),
    expect.stringMatching(/^postgres:\d+\.\d+-/),
    expect.stringMatching(/^redis:\d+\.\d+\.\d+-/),
  ])
  expect(ports.length).toBeGreaterThan(0)
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
})
