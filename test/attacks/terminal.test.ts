import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { harmless, printableJson } from '../../src/cli/terminal/printable.ts'
import { runCommand } from '../support/cli/cli.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { temporaryFolder } from '../support/processes/processes.ts'

/** Sets the title, rings, colours, clears (C1), turns text round, hides it, and forges a line. */
const EVIL =
  'x\u001b]0;t\u0007\u001b[31m\u009b2J\u007f\u202e\u2066\u200e\u061c\u200b\ufeff\u2028\ud800\r\nerror: forged'

const OBEYED = /[^\P{Cc}\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

const ARCHIVE = '{"archive":{"version":1}}\n'

const permissions = { read: true, write: true, export: true, import: true }
const run = {
  ...{ dueAt: EVIL, jobId: EVIL, status: EVIL, error: { code: EVIL, detail: EVIL }, finishedAt: EVIL, provenAt: EVIL },
  notExported: 3,
}
const stage = {
  slug: EVIL,
  createdAt: EVIL,
  mode: 'in place',
  undoable: false,
  rows: 1,
  tables: 1,
  leftOut: [{ kind: EVIL, name: EVIL, detail: EVIL }],
  notReplaced: [{ kind: EVIL, name: EVIL, detail: EVIL }],
}
const fields = {
  ...{ id: EVIL, slug: EVIL, name: EVIL, createdAt: EVIL, startedAt: EVIL, finishedAt: EVIL, expiresAt: EVIL },
  ...{ token: EVIL, revokedAt: null, memberships: [{ project: EVIL, role: EVIL }] },
  ...{ content: permissions, system: permissions, stages: [stage], projects: [], stage: EVIL, tables: 1 },
  ...{ kind: 'export', status: 'succeeded', attempt: 2, request: { projects: [{ slug: EVIL }] }, scheduleId: EVIL },
  ...{ replacedAt: EVIL, progress: null, next: null },
  result: { notExported: [{ stage: EVIL, kind: EVIL, name: EVIL, detail: EVIL }] },
  error: { code: EVIL, detail: EVIL, errors: [{ detail: EVIL, pointer: EVIL }] },
  ...{ cron: EVIL, timezone: EVIL, keep: {}, verify: true, enabled: true, nextRunAt: EVIL, nextRuns: [EVIL] },
  ...{ lastRun: run, lastSuccess: run, lastProven: run },
  // Of an upload that is whole.
  ...{ length: ARCHIVE.length, offset: ARCHIVE.length },
}

const ID = '0f8b8a52-2f1f-4d0e-9c5b-0f6d7c1c2a11'

const toAnswer = (path: string): object => {
  if (path.includes('/undo')) return { ...fields, tables: [{ name: EVIL, rows: 1 }] }
  if (path.includes('/import')) {
    const tables = path.includes('dryRun') ? [{ name: EVIL, rowsNow: null, rowsAfter: 1 }] : 1
    return { projects: [{ slug: EVIL, targetSlug: EVIL, roles: 2, stages: [{ ...stage, tables }] }] }
  }
  if (path === '/uploads') return { ...fields, id: ID }
  return { ...fields, items: [fields, { ...fields, slug: 'live' }] }
}

const serveEvil = () =>
  serveHttp(({ url = '' }, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(toAnswer(url)))
  })

/** Every command that talks to a server, but those that stream an archive from it. */
async function commandsOf(port: number): Promise<string[][]> {
  const folder = await temporaryFolder()
  const [sql, archive] = [join(folder, 'a.sql'), join(folder, 'a.jsonl')]
  await writeFile(sql, 'SELECT 1')
  await writeFile(archive, ARCHIVE)
  const server = ['--server', `wharf://shop:T@127.0.0.1:${port}`]
  const dsn = `wharf://shop:T@127.0.0.1:${port}`
  return [
    ['project:create', 'shop', ...server],
    ['project:list', ...server],
    ['project:show', 'shop', ...server],
    ['project:delete', 'shop', '--yes', ...server],
    ['stage:create', 'live', dsn],
    ['stage:list', dsn],
    ['stage:delete', 'live', dsn, '--yes'],
    ['role:list', ...server],
    ['role:set', 'reader', '--content', 'read', ...server],
    ['role:delete', 'reader', '--yes', ...server],
    ['token:create', '--name', 'a', '--role', 'admin', ...server],
    ['token:list', ...server],
    ['token:revoke', ID, '--yes', ...server],
    ['schema:apply', sql, dsn],
    ['data:undo', dsn, '--yes'],
    ['data:import', archive, dsn, '--dry-run'],
    ['data:import', archive, dsn, '--yes'],
    ['job:list', ...server],
    ['job:show', ID, ...server],
    ['job:watch', ID, ...server],
    ['job:cancel', ID, ...server],
    ['schedule:create', '--name', 'a', '--cron', '@daily', ...server],
    ['schedule:list', ...server],
    ['schedule:pause', ID, ...server],
    ['schedule:resume', ID, ...server],
    ['schedule:run', ID, ...server],
    ['schedule:delete', ID, '--yes', ...server],
  ]
}

test("takes over an operator's terminal by the names that a server gives", async () => {
  const { port } = await serveEvil()
  for (const command of await commandsOf(port)) {
    const { code, stdout, stderr } = await runCommand(command)
    expect({ command, code }).toEqual({ command, code: 0 })
    expect({ command, text: OBEYED.exec(stdout + stderr) }).toEqual({ command, text: null })
    expect({ command, forged: /^error: /m.exec(stdout + stderr) }).toEqual({ command, forged: null })
  }
})

test('takes over a terminal by the words of a refusal', async () => {
  const { port } = await serveHttp((_, response) => {
    response.writeHead(422, { 'content-type': 'application/problem+json' })
    response.end(JSON.stringify({ type: EVIL, title: EVIL, detail: EVIL, errors: [{ pointer: EVIL, detail: EVIL }] }))
  })
  for (const command of await commandsOf(port)) {
    const { code, stdout, stderr } = await runCommand(command)
    expect({ command, code }).toEqual({ command, code: 1 })
    expect({ command, text: OBEYED.exec(stdout + stderr) }).toEqual({ command, text: null })
    expect(stderr.match(/^error: /gm)).toHaveLength(1)
  }
})

test('what a terminal would obey is escaped in JSON, which still says the same', async () => {
  const { port } = await serveEvil()
  for (const command of await commandsOf(port)) {
    const { stdout } = await runCommand([...command, '--json'], { conforms: false })
    expect({ command, text: OBEYED.exec(stdout) }).toEqual({ command, text: null })
    expect(() => JSON.parse(stdout)).not.toThrow()
  }
  expect(JSON.parse(printableJson({ [EVIL]: [EVIL, '\u{e0041}'] }))).toEqual({ [EVIL]: [EVIL, '\u{e0041}'] })
})

test('takes over a terminal by the rows of an archive', async () => {
  const { port, requests } = await serveEvil()
  const server = `wharf://shop:T@127.0.0.1:${port}`
  const commands = [
    ['data:export', server, '--no-gzip', '--output', '-'],
    ['job:download', ID, '--server', server, '--output', '-'],
  ]
  for (const command of commands) {
    const refused = { code: 2, stdout: '', stderr: expect.stringMatching(/^error: standard output is a terminal: /) }
    expect(await runCommand(command, { outputTerminal: true })).toMatchObject(refused)
  }
  expect(requests).toEqual([])
})

test('every character that a terminal would obey is escaped by the writer, too', () => {
  const wrong: number[] = []
  for (let code = 0; code <= 0x2ffff; code += 1) {
    const character = String.fromCodePoint(code)
    const written = harmless(character)
    const isEscaped = /^(\\u[0-9a-f]{4}){1,2}$/.test(written)
    const isObeyed = OBEYED.test(character) && character !== '\t'
    if (isObeyed ? !isEscaped : written !== character) wrong.push(code)
  }
  expect(wrong).toEqual([])
  expect(harmless('\u001b[1mname\u001b[22m \u001b[2K')).toBe('\u001b[1mname\u001b[22m \\u001b[2K')
})
