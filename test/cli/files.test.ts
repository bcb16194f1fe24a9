import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sampleLines } from '../support/archives/archive-sample.ts'
import { runCommand, spawnShell, spawnWharf } from '../support/cli/cli.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { asOrdinaryUser, ORDINARY_USER } from '../support/processes/ordinary-user.ts'
import { temporaryFolder } from '../support/processes/processes.ts'

const archive = Buffer.concat(sampleLines())

const answerWithArchive: RequestListener = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(archive)
}

const dsn = (port: number): string => `wharf://shop:T@127.0.0.1:${port}`

// Loaded beforehand: `nobody` need not be able to read the program.
await runCommand(['data:export', dsn(1)])
await runCommand(['data:import', 'missing', dsn(1), '--yes'])
await runCommand(['schema:apply', 'missing', dsn(1)])
await runCommand(['data:verify', 'missing'])

test('an output in a folder that may not be written to is refused before anything is asked for', async ({ skip }) => {
  const { code: runs } = await spawnWharf(['--version'], { cwd: '/', user: ORDINARY_USER }).ended
  skip(runs !== 0, 'Node.js or the program is in a folder that is closed to ordinary users')
  const folder = await temporaryFolder()
  const server = await serveHttp(answerWithArchive)
  const output = join(folder, 'shop.jsonl')
  await chmod(folder, 0o555)
  const args = ['data:export', dsn(server.port), '--no-gzip', '--output', output]
  expect(await spawnWharf(args, { cwd: '/', user: ORDINARY_USER }).ended).toMatchObject({
    code: 2,
    stderr: `error: the output ${output} may not be written by this user: choose another place, or get write permission in its folder\n`,
  })
  expect(server.requests).toEqual([])
})

test('an output in a folder that may not even be looked into is refused in words', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'closed', 'inside'), { recursive: true })
  await chmod(join(folder, 'closed'), 0o600)
  const args = ['data:export', dsn(1), '--output', join(folder, 'closed', 'inside', 'out')]
  expect(await asOrdinaryUser(() => runCommand(args))).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error: the output \S+ may not be written by this user: [^\n]+\n$/),
  })
})

test('a folder where the part would be is said to be in the way', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'shop.jsonl.part'))
  const server = await serveHttp(answerWithArchive)
  const args = ['data:export', dsn(server.port), '--no-gzip', '--output', join(folder, 'shop.jsonl')]
  const { code, stderr } = await runCommand(args)
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('.part is a folder, which is in the way'),
  })
})

test.each([
  ['data:import', [dsn(1), '--yes']],
  ['data:verify', []],
  ['schema:apply', [dsn(1)]],
] as const)('%s of a file that may not be read is wrong use', async (command, more) => {
  const file = join(await temporaryFolder(), 'secret')
  await writeFile(file, archive, { mode: 0o000 })
  const { code, stderr } = await asOrdinaryUser(() => runCommand([command, file, ...more]))
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `error: ${file} may not be read by this user: get read permission for it, and for the folders above it\n`,
  })
})

test('a disk that is full ends an export with a word about it', async () => {
  const { port } = await serveHttp(answerWithArchive)
  const { ended } = spawnShell(`"$@" data:export ${dsn(port)} --no-gzip --output - > /dev/full`)
  expect(await ended).toMatchObject({
    code: 1,
    stderr:
      'error: standard output could not be written to its end, no space is left: free some, or choose another place (FILE_FAILED)\n',
  })
})

test('a result that cannot be written is a failure', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'archive'), archive)
  const { ended } = spawnShell(`"$@" data:verify ${folder}/archive > /dev/full`)
  expect(await ended).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('standard output could not be written'),
  })
})

test('an output that becomes larger than files may be leaves nothing behind', async () => {
  const folder = await temporaryFolder()
  const { port } = await serveHttp((_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.end(Buffer.concat([archive, Buffer.alloc(100_000, '\n')]))
  })
  const { ended } = spawnShell(`ulimit -f 1; "$@" data:export ${dsn(port)} --no-gzip --output ${folder}/out`)
  expect(await ended).toMatchObject({
    code: 1,
    stderr: `error: ${folder}/out.part could not be written to its end, no file may be larger here: raise "ulimit -f" (FILE_FAILED)\n`,
  })
  expect(await readdir(folder)).toEqual([])
})
