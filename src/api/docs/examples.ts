import { EXAMPLE_VALUES, type ExampleValues, PATH_VALUES } from './example-values.ts'
import { bodyOf, needsToken, type Operation, parametersOf } from './operations.ts'

/** The same call, for a shell and for TypeScript. Both take address and token from `WHARF_URL` and `WHARF_TOKEN`. */
export interface Examples {
  readonly curl: string
  readonly typescript: string
}

export function examplesOf(operation: Operation): Examples {
  const given = EXAMPLE_VALUES[operation.id] ?? {}
  const named = parametersOf(operation).filter((parameter) => parameter.in === 'path')
  const path = Object.fromEntries(named.map(({ name }) => [name, given.path?.[name] ?? PATH_VALUES[name] ?? name]))
  const values = { ...given, path }
  return { curl: toCurl(operation, values), typescript: toTypeScript(operation, values) }
}

/** Archives in examples. */
const ARCHIVE = 'demo.jsonl.gz'

const LOOKS_ONLY = 'This only says what would change. Leave dryRun out to do it.'

/** What stands before an example as a comment. */
const COMMENTS: Readonly<Record<string, string>> = {
  importArchive: LOOKS_ONLY,
  importJobFile: LOOKS_ONLY,
  importUpload: LOOKS_ONLY,
}

const commentOf = ({ id }: Operation, mark: '#' | '//'): string => (COMMENTS[id] ? `${mark} ${COMMENTS[id]}\n` : '')

/** What a call sends, or answers with, as a file. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  exportProjects: ["-H 'Accept-Encoding: gzip'", `-o ${ARCHIVE}`],
  importArchive: ["-H 'Content-Type: application/x-ndjson'", "-H 'Content-Encoding: gzip'", `-T ${ARCHIVE}`],
  sendUpload: ["-H 'Content-Type: application/offset+octet-stream'", `-T ${ARCHIVE}`],
  downloadJobFile: ['-C - -o archive.jsonl.gz'],
  watchJob: ['--no-buffer'],
  watchJobs: ['--no-buffer'],
}

function toCurl(operation: Operation, { path = {}, query = {}, header = {}, body }: ExampleValues): string {
  const { method, id } = operation
  const filled = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''))
  const search = Object.entries(query).map(
    ([name, value]) => `${name}=${encodeURIComponent(value).replaceAll('%2C', ',')}`,
  )
  const url = `"$WHARF_URL${filled}${search.length > 0 ? `?${search.join('&')}` : ''}"`
  const parts = [
    method === 'GET' ? `curl ${url}` : `curl -X ${method} ${url}`,
    ...(needsToken(operation) ? ['-H "Authorization: Bearer $WHARF_TOKEN"'] : []),
    ...Object.entries(header).map(([name, value]) => `-H '${toHeaderName(name)}: ${value}'`),
    ...(body === undefined ? [] : [`-H 'Content-Type: ${bodyOf(operation)?.mediaType}'`, `-d ${quoted(textOf(body))}`]),
    ...(FILES[id] ?? []),
  ]
  return commentOf(operation, '#') + parts.join(' \\\n  ')
}

const toHeaderName = (name: string): string => name.replaceAll(/(^|-)[a-z]/g, (start) => start.toUpperCase())

const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body))

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const CLIENT = `const wharf = createClient({
  url: process.env.WHARF_URL ?? '',
  token: process.env.WHARF_TOKEN ?? '',
})`

/** What has bytes for a body, or an answer that goes on. */
const STREAMS: Readonly<
  Record<string, { readonly imports?: string; readonly lines: (values: ExampleValues) => string }>
> = {
  exportProjects: {
    imports: "import { writeFile } from 'node:fs/promises'",
    lines: ({ body }) =>
      `const archive = await wharf.exportArchive(${toSource(body)})\nawait writeFile('demo.jsonl', archive)`,
  },
  importArchive: {
    imports: "import { createReadStream } from 'node:fs'",
    lines: () =>
      `const archive = createReadStream('${ARCHIVE}')\nconst answer = await wharf.importArchive(archive, { dryRun: true })\nconsole.log(answer.projects)`,
  },
  sendUpload: {
    imports: "import { openAsBlob } from 'node:fs'",
    lines: ({ path }) =>
      `const upload = await wharf.upload(await openAsBlob('${ARCHIVE}'), {\n  uploadId: '${path?.id}',\n})\nconsole.log(upload.offset)`,
  },
  createUpload: {
    imports: "import { openAsBlob } from 'node:fs'",
    lines: () => `const upload = await wharf.upload(await openAsBlob('${ARCHIVE}'))\nconsole.log(upload.id)`,
  },
  downloadJobFile: { lines: ({ path }) => `await wharf.saveArchive('${path?.id}', '${ARCHIVE}')` },
  watchJob: {
    lines: ({ path }) =>
      `const job = await wharf.waitFor('${path?.id}', {\n  onProgress: ({ progress }) => console.log(progress?.rows),\n})\nconsole.log(job.status)`,
  },
  watchJobs: {
    lines: ({ query }) =>
      `for await (const jobs of wharf.watchJobs(${query ? toSource(query) : ''})) {\n  console.log(jobs.map(({ status }) => status))\n}`,
  },
  importJobFile: {
    lines: ({ path }) =>
      `const answer = await wharf.importArchive({ jobId: '${path?.id}' }, { dryRun: true })\nconsole.log(answer.projects)`,
  },
  importUpload: {
    lines: ({ path }) =>
      `const answer = await wharf.importArchive({ uploadId: '${path?.id}' }, { dryRun: true })\nconsole.log(answer.projects)`,
  },
  getRows: {
    lines: ({ path, query }) =>
      `const ships = wharf.rows(${toSource(path)}, ${toSource(texts(query))})\nconst { rows, hasChanged } = await ships.read()\nconsole.log(rows, hasChanged)`,
  },
}

function toTypeScript(operation: Operation, values: ExampleValues): string {
  const stream = STREAMS[operation.id]
  const imports = ["import { createClient } from 'wharf/client'", ...(stream?.imports ? [stream.imports] : [])].join(
    '\n',
  )
  const lines = stream ? stream.lines(values) : toCall(operation, values)
  return `${imports}\n\n${CLIENT}\n\n${commentOf(operation, '//')}${lines}`
}

/** The columns that rows are chosen by: the description knows no names of columns, and so the types do not. */
const FILTERED = new Set(['updateRows', 'putRow', 'deleteRows'])

function toCall(operation: Operation, { path = {}, query = {}, header = {}, body }: ExampleValues): string {
  const params = {
    ...(Object.keys(path).length > 0 && { path }),
    ...(Object.keys(query).length > 0 && { query }),
    ...(Object.keys(header).length > 0 && { header }),
  }
  const isText = body !== undefined && isTextBody(operation)
  const mediaType = bodyOf(operation)?.mediaType ?? ''
  const given = [
    ...(Object.keys(params).length > 0 ? [`params: ${toSource(params, 1)}`] : []),
    ...(isText && mediaType !== 'application/json' ? [`headers: { 'content-type': '${mediaType}' }`] : []),
    ...(body === undefined ? [] : [`body: ${isText ? textSource(body) : toSource(body, 1)}`]),
  ]
  const options = given.length === 0 ? '' : `, {\n  ${given.join(',\n  ')},\n}`
  const filter = FILTERED.has(operation.id) ? `const query = ${toSource(query)}\n` : ''
  const call = `await wharf.${operation.method.toLowerCase()}('${operation.path}'${options})`
  const named = filter === '' ? call : call.replace(`query: ${toSource(query, 2)}`, 'query')
  const hasAnswer = !('204' in (operation.operation.responses ?? {}))
  return hasAnswer ? `${filter}const answer = ${named}\nconsole.log(answer)` : `${filter}${named}`
}

const texts = (query: ExampleValues['query'] = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))

const textSource = (body: unknown): string =>
  typeof body === 'string' ? toSource(body) : `JSON.stringify(${toSource(body, 1)})`

/** A value as it is written in TypeScript, on one line where it is short. */
function toSource(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Array.isArray(value)
    ? value.map((item) => toSource(item, depth + 1))
    : Object.entries(value).map(([name, item]) => `${toName(name)}: ${toSource(item, depth + 1)}`)
  if (parts.length === 0) return Array.isArray(value) ? '[]' : '{}'
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const space = Array.isArray(value) ? '' : ' '
  const line = `${open}${space}${parts.join(', ')}${space}${close}`
  if (line.length + depth * 2 < 66 && !line.includes('\n')) return line
  const indent = '  '.repeat(depth + 1)
  return `${open}\n${parts.map((part) => `${indent}${part},\n`).join('')}${'  '.repeat(depth)}${close}`
}

const toName = (name: string): string => (/^[a-z_]\w*$/i.test(name) ? name : `'${name}'`)

function isTextBody(operation: Operation): boolean {
  const schema = bodyOf(operation)?.schema
  return schema !== undefined && 'type' in schema && schema.type === 'string'
}
