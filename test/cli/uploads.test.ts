import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { removeArtifacts } from '../../src/jobs/sweep-artifacts.ts'
import { contentsOf, exportOf } from '../support/archives/import.ts'
import { runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { startTcpRelay } from '../support/servers/tcp-relay.ts'
import { nothingIsLeft } from '../support/service/leftovers.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const STRUCTURE = 'CREATE TABLE song (id integer PRIMARY KEY, name text)'
const MB = 1024 * 1024

let wharf: TestWharf
let archive: string

/** The archive as a file, until the test ends. */
async function archiveFile(): Promise<string> {
  const file = join(await temporaryFolder(), 'shop.jsonl')
  await writeFile(file, archive)
  return file
}

beforeAll(async () => {
  wharf = await startWharf()
  // Some 4 MB that gzip can do little about.
  const songs = Array.from({ length: 3_000 }, (_, id) => `(${id}, '${randomBytes(700).toString('hex')}')`)
  await createProject(wharf, 'shop', `${STRUCTURE}; INSERT INTO song VALUES ${songs.join()}`)
  archive = await exportOf(wharf.root, 'shop', { system: false })
})

afterAll(() => wharf?.close())

/** A relay to the service that breaks so many connections, each after a megabyte of what the client sends. */
async function startBadNetwork(breaks: number) {
  let connections = 0
  let sent = 0
  const relay = await startTcpRelay(wharf.url, (breakOff) => {
    let asked = 0
    return {
      asks(chunk) {
        asked += chunk.length
        sent += chunk.length
        if (asked > MB && connections < breaks) {
          connections += 1
          breakOff()
          return false
        }
        return true
      },
      answers: () => true,
    }
  })
  return { relay, broken: () => connections, sentBytes: () => sent }
}

const nothingIsKept = async (): Promise<void> => {
  await removeArtifacts(wharf.container)
  expect(await wharf.database.query('SELECT id FROM control.upload')).toEqual([])
  await nothingIsLeft(wharf)
}

test('an import over a network that breaks goes on where it was', async () => {
  await createProject(wharf, 'breaking', STRUCTURE)
  const { relay, broken } = await startBadNetwork(3)
  const { code, stderr } = await runCommand(['data:import', await archiveFile(), dsnOf(relay, 'breaking'), '--yes'])
  expect({ code, stderr, broken: broken() }).toEqual({ code: 0, stderr: '', broken: 3 })
  expect(await contentsOf(wharf, 'breaking')).toEqual(await contentsOf(wharf, 'shop'))
  await relay.cut()
  await nothingIsKept()
})

test('what is asked about first is sent once', async () => {
  await createProject(wharf, 'asked', STRUCTURE)
  const { relay, sentBytes } = await startBadNetwork(0)
  const command = ['data:import', await archiveFile(), dsnOf(relay, 'asked')]
  expect((await runCommand(command, { terminal: true, input: 'y\n' })).code).toBe(0)
  expect(sentBytes() / Buffer.byteLength(archive)).toBeLessThan(1.1)
  expect(await contentsOf(wharf, 'asked')).toEqual(await contentsOf(wharf, 'shop'))
  await relay.cut()
  await nothingIsKept()
})

test('nothing is left of what was sent and then not wanted, or refused', async () => {
  await createProject(wharf, 'unwanted', STRUCTURE)
  const command = ['data:import', await archiveFile(), dsnOf(wharf, 'unwanted')]
  expect((await runCommand(command, { terminal: true, input: 'n\n' })).code).toBe(1)
  expect((await runCommand([...command, '--dry-run'])).code).toBe(0)
  const broken = join(await temporaryFolder(), 'broken.jsonl')
  await writeFile(broken, archive.replace('{"row"', '{"rows"'))
  expect((await runCommand(['data:import', broken, dsnOf(wharf, 'unwanted'), '--yes'])).code).toBe(1)
  await nothingIsKept()
})

test('a server that says that it has what was never sent, or has lost what was, ends the command', async () => {
  const size = Buffer.byteLength(archive)
  for (const offset of [size + 1, 0]) {
    const upload = {
      id: '0f8b8a52-2f1f-4d0e-9c5b-0f6d7c1c2a11',
      length: size,
      offset,
      expiresAt: '2026-01-01T00:00:00Z',
    }
    const server = await serveHttp((_, response) => response.end(JSON.stringify(upload)))
    const { code, stderr } = await runCommand(['data:import', await archiveFile(), dsnOf(server, 'shop'), '--yes'])
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('another number of bytes') })
  }
})
