import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import type { RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { sampleLines } from '../support/archives/archive-sample.ts'
import { runCommand } from '../support/cli/cli.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { temporaryFolder } from '../support/processes/processes.ts'

const TOKEN = 'token-that-nobody-may-see'
const OLD = 'the archive of yesterday'

const lines = sampleLines()
const plain = Buffer.concat(lines)
// Two members, as the server writes them.
const packed = Buffer.concat([gzipSync(plain.subarray(0, 700)), gzipSync(plain.subarray(700))])

const dsn = (port: number): string => `wharf://shop:${TOKEN}@127.0.0.1:${port}`

const archiveHead = (response: ServerResponse, gzip = true): ServerResponse =>
  response.writeHead(200, {
    'content-type': 'application/x-ndjson',
    'x-request-id': 'request-1',
    'wharf-rows-estimate': '3',
    ...(gzip && { 'content-encoding': 'gzip' }),
  })

const answerWith =
  (bytes: Buffer, gzip = true): RequestListener =>
  (_, response) => {
    archiveHead(response, gzip).end(bytes)
  }

const answerWithProblem =
  (status: number, problem: object): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/problem+json', 'x-request-id': 'request-1' })
    response.end(JSON.stringify({ title: 'Not well', status, ...problem }))
  }

/** Exports from a server that answers so, over a file that is there already. */
async function exportOver(answer: RequestListener, args: readonly string[] = []) {
  const folder = await temporaryFolder()
  const output = join(folder, 'shop.jsonl.gz')
  await writeFile(output, OLD)
  const server = await serveHttp(answer)
  const result = await runCommand(['data:export', dsn(server.port), '--output', output, ...args])
  return { ...result, server, folder, files: await readdir(folder), content: await readFile(output) }
}

test('a server learns how many sessions are to read, and only where that is said', async () => {
  const bodyOf = async (...args: string[]) => {
    const { code, server } = await exportOver(answerWith(packed), args)
    return { code, body: server.requests.map(({ body }): unknown => JSON.parse(body)) }
  }
  const projects = [{ slug: 'shop', system: false }]
  expect(await bodyOf('--jobs', '3')).toEqual({ code: 0, body: [{ projects, jobs: 3 }] })
  expect(await bodyOf()).toEqual({ code: 0, body: [{ projects }] })
  expect(await bodyOf('--jobs', '33')).toEqual({ code: 2, body: [] })
})

test('an archive is saved as it comes, and replaces the one before', async () => {
  const { code, stdout, stderr, files, content, server, folder } = await exportOver(answerWith(packed))
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(content.equals(packed)).toBe(true)
  expect(files).toEqual(['shop.jsonl.gz'])
  expect(stdout.split('\n').slice(0, 6)).toEqual([
    `exported shop to ${folder}/shop.jsonl.gz`,
    '  stages  live',
    '  tables  2',
    '  rows    3',
    '  system  1 role, 2 events',
    `  size    ${packed.length < 1000 ? `${packed.length} B` : `${(packed.length / 1000).toFixed(1)} kB`}`,
  ])
  expect(server.requests).toMatchObject([
    {
      method: 'POST',
      path: '/export',
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'accept-encoding': 'gzip',
      },
      body: '{"projects":[{"slug":"shop","system":false}]}',
    },
  ])
})

test('the options say what is exported', async () => {
  const folder = await temporaryFolder()
  const server = await serveHttp(answerWith(plain, false))
  const output = join(folder, 'out')
  const choice = ['--include-system', '--stage', 'live', '--stage', 'draft', '--exclude-table', 'log', '--no-gzip']
  const { code } = await runCommand(['data:export', ...choice, dsn(server.port), '--output', output])
  expect(code).toBe(0)
  expect((await readFile(output)).equals(plain)).toBe(true)
  const [request] = server.requests
  expect(JSON.parse(request?.body ?? '')).toEqual({
    projects: [{ slug: 'shop', system: true, stages: ['live', 'draft'], excludeTables: ['log'] }],
  })
  expect(request?.headers).not.toHaveProperty('content-encoding')
})

test('what the archive cannot hold is reported', async () => {
  const { stderr, stdout } = await exportOver(answerWith(packed), ['--json', '--quiet'])
  expect(stderr).toBe(
    'warning: the archive lacks things that no archive can hold, or rights that were not asked for; no rows are missing with them:\n  live: view best_albums\n',
  )
  expect(JSON.parse(stdout)).toEqual({
    project: 'shop',
    file: expect.stringMatching(/shop\.jsonl\.gz$/),
    stages: ['live'],
    tables: 2,
    rows: 3,
    system: { roles: 1, events: 2 },
    complete: false,
    notExported: [{ stage: 'live', kind: 'view', name: 'best_albums' }],
    bytes: packed.length,
    seconds: expect.any(Number),
  })
})

test('with "--output -" standard output has the archive and nothing else', async () => {
  const server = await serveHttp(answerWith(packed))
  const { code, bytes, stderr } = await runCommand(['data:export', dsn(server.port), '--output', '-'])
  expect(code).toBe(0)
  expect(bytes.equals(packed)).toBe(true)
  expect(stderr).toContain('exported shop to standard output')
})

const flipped = Buffer.from(packed)
// In the sum of the gzip data, which its last eight bytes begin with: elsewhere the damage may look like an early end.
flipped[packed.length - 8] = (flipped[packed.length - 8] ?? 0) ^ 0xff
const otherRow = Buffer.from(plain.toString().replace('[2,', '[7,'))

test.each<[what: string, answer: RequestListener, message: RegExp]>([
  [
    'cut between two gzip members',
    answerWith(gzipSync(plain.subarray(0, 700))),
    /^error: the archive did not arrive whole/,
  ],
  ['cut inside of gzip', answerWith(packed.subarray(0, -9)), /the file ends in the middle of its gzip data/],
  ['with a byte changed', answerWith(flipped), /the gzip data is damaged/],
  ['with a row changed', answerWith(gzipSync(otherRow)), /line 20/],
  ['with something after it', answerWith(Buffer.concat([packed, Buffer.from('more')])), /not gzip data follows/],
  ['unpacked on the way', answerWith(plain, false), /comes uncompressed.*--no-gzip/],
  ['of nothing', answerWith(Buffer.alloc(0)), /the file is empty/],
  [
    'whose connection breaks',
    (_, response) => {
      archiveHead(response).write(packed.subarray(0, 300), () => response.destroy())
    },
    /the connection broke off \(request request-1 in the server's log\)/,
  ],
  [
    'that is refused',
    answerWithProblem(403, { detail: 'the permission content.export is missing in project "shop"' }),
    /^error: the permission content.export is missing in project "shop" \(\w+\)\n$/,
  ],
  [
    'that fails before it begins',
    answerWithProblem(500, { detail: 'something went wrong' }),
    /^error: something went wrong \(request request-1 in the server's log\) \(\w+\)\n$/,
  ],
  [
    'that has several faults',
    answerWithProblem(400, {
      detail: 'no',
      errors: [
        { pointer: '/projects/0/slug', detail: 'is bad' },
        { line: 3, detail: 'too' },
      ],
    }),
    /^error: no \(\w+\)\n {2}projects.0.slug: is bad\n {2}line 3: too\n$/,
  ],
  [
    'of something else',
    (_, response) => response.writeHead(404).end('<html>'),
    /answered "404 Not Found", not as a Wharf server/,
  ],
])('an archive %s leaves the one before, and nothing else', async (_, answer, message) => {
  const { code, stdout, stderr, files, content } = await exportOver(answer, ['--quiet'])
  expect(stderr).toMatch(message)
  expect(stderr).not.toContain(TOKEN)
  expect({ code, stdout, files, content: content.toString() }).toEqual({
    code: 1,
    stdout: '',
    files: ['shop.jsonl.gz'],
    content: OLD,
  })
})

test('an archive that ends after any line but the last is not kept', async () => {
  const folder = await temporaryFolder()
  let kept = 0
  const server = await serveHttp((_, response) => archiveHead(response, false).end(Buffer.concat(lines.slice(0, kept))))
  for (; kept < lines.length; kept++) {
    const output = join(folder, 'out')
    const { code } = await runCommand(['data:export', dsn(server.port), '--no-gzip', '--quiet', '--output', output])
    expect({ kept, code, files: await readdir(folder) }).toEqual({ kept, code: 1, files: [] })
  }
})

test('an output that cannot be written to is refused before anything is asked for', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'there'))
  const server = await serveHttp(answerWith(packed))
  const outputs = [
    [join(folder, 'there'), 'is a folder'],
    [`${folder}/new/`, 'is not the name of a file'],
    [join(folder, 'missing', 'shop.jsonl.gz'), 'there is no folder'],
    ['/dev/null', 'is not a regular file'],
    ['', 'is not the name of a file'],
  ] as const
  for (const [output, message] of outputs) {
    const { code, stderr } = await runCommand(['data:export', dsn(server.port), '--output', output])
    expect({ output, code, stderr }).toEqual({ output, code: 2, stderr: expect.stringContaining(message) })
  }
  expect(server.requests).toEqual([])
})

test('a part that was left behind is replaced, also where it is a link to something precious', async () => {
  const folder = await temporaryFolder()
  const output = join(folder, 'shop.jsonl.gz')
  await writeFile(join(folder, 'precious'), OLD)
  await symlink('precious', `${output}.part`)
  const server = await serveHttp(answerWith(packed))
  const { code } = await runCommand(['data:export', dsn(server.port), '--output', output])
  expect({ code, files: await readdir(folder) }).toEqual({ code: 0, files: ['precious', 'shop.jsonl.gz'] })
  expect(await readFile(join(folder, 'precious'), 'utf8')).toBe(OLD)
  expect((await readFile(output)).equals(packed)).toBe(true)
})

test('of two exports to one file, the one that was overtaken does not replace the other', async () => {
  const folder = await temporaryFolder()
  const output = join(folder, 'shop.jsonl.gz')
  const slow = await serveHttp((_, response) => {
    archiveHead(response).write(packed.subarray(0, 300))
    void runCommand(['data:export', dsn(fast.port), '--output', output]).then(() => response.end(packed.subarray(300)))
  })
  const fast = await serveHttp(answerWith(packed))
  const { code, stderr } = await runCommand(['data:export', dsn(slow.port), '--output', output, '--quiet'])
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('was removed or replaced meanwhile') })
  expect((await readFile(output)).equals(packed)).toBe(true)
})

test('a DSN without a token takes it from WHARF_TOKEN', async () => {
  const server = await serveHttp(answerWithProblem(401, { detail: 'the token is not known' }))
  const variables = { WHARF_TOKEN: TOKEN }
  const { code } = await runCommand(['data:export', `wharf://shop@127.0.0.1:${server.port}`], { variables })
  expect({ code, sent: server.requests[0]?.headers.authorization }).toEqual({ code: 1, sent: `Bearer ${TOKEN}` })
})

test.each<[args: readonly string[], message: string]>([
  [['data:export', 'wharf://shop@127.0.0.1:1'], 'the address carries no token'],
  [['data:export', `wharf://Shop:${TOKEN}@127.0.0.1:1`], 'expected wharf://<project>:<TOKEN>@<host>[:port]'],
  [['data:export', `wharf://shop:${TOKEN}@127.0.0.1:1`, 'more'], 'too many arguments'],
  [['data:export', '--targe', 'x'], "unknown option '--targe'"],
  [['data:exprot'], "unknown command 'data:exprot'"],
  [[`wharf://shop:${TOKEN}@127.0.0.1:1`], "unknown command 'wharf://shop:***@127.0.0.1:1'"],
  [['data:export', '--output'], "option '--output <file>' argument missing"],
  [[], 'Usage: wharf'],
])('%j is wrong use', async (args, message) => {
  const { code, stderr, stdout } = await runCommand(args)
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  expect(stderr).not.toContain(TOKEN)
})

test('a server that is not there is named, with what to do', async () => {
  const { code, stderr } = await runCommand(['data:export', dsn(1)])
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^error: the request to http:\/\/127\.0\.0\.1:1 failed: nothing listens there/),
  })
})
