import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'

interface Described {
  readonly info: object
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses?: Record<string, object> }>>>>
}

const COMMAND = 'npx vitest run test/client/generated.test.ts -u'

/** What the types of the client are made from: failures are thrown, whatever the call, see `WharfError`. */
function partForClients(document: object): object {
  const { info, paths, ...rest } = document as Described
  const calls = Object.entries(paths).map(([path, item]) => [path, mapValues(item, withoutFailures)])
  return { ...rest, info: { ...info, version: '' }, paths: Object.fromEntries(calls) }
}

const mapValues = <T>(values: Readonly<Record<string, T>>, map: (value: T) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))

const withoutFailures = <T extends { readonly responses?: Record<string, object> }>(operation: T): T => ({
  ...operation,
  responses: Object.fromEntries(Object.entries(operation.responses ?? {}).filter(([status]) => status < '400')),
})

const digestOf = (document: object): string =>
  createHash('sha256')
    .update(JSON.stringify(partForClients(document)))
    .digest('hex')

/** Whether the file of types was made from this document: to make it anew takes seconds of processor time. */
export const isMadeFrom = (file: string, document: object): boolean => file.includes(`: ${digestOf(document)}\n`)

/** The text of `src/client/generated/api.ts`, from the OpenAPI document of a service. */
export async function generateApiTypes(document: object): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-client-types-'))
  try {
    const [program, input] = [join(folder, 'generate.cjs'), join(folder, 'openapi.json')]
    await Promise.all([bundleGenerator(program), writeFile(input, JSON.stringify(partForClients(document)))])
    const { stdout } = await promisify(execFile)(process.execPath, [program, input], { maxBuffer: 16 * 1024 * 1024 })
    return `/*\n * Made from /openapi.json by openapi-typescript: ${COMMAND}\n * SHA-256: ${digestOf(document)}\n */\n${stdout}`
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const GENERATOR = `
import generate, { astToString } from 'openapi-typescript'
import { readFileSync } from 'node:fs'
const options = { immutable: true, defaultNonNullable: false, silent: true }
generate(JSON.parse(readFileSync(process.argv[2], 'utf8')), options).then((ast) => process.stdout.write(astToString(ast)))
`

/** openapi-typescript needs TypeScript's interface for JavaScript. TypeScript 7 has none, so it gets that of TypeScript 5. */
const bundleGenerator = (outfile: string): Promise<unknown> =>
  build({
    stdin: { contents: GENERATOR, resolveDir: process.cwd() },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    alias: { typescript: 'typescript-5' },
    define: { 'import.meta.url': '"file:///generate.cjs"' },
    logLevel: 'error',
  })

/** The text of `src/client/generated/advice.ts`: what the tables of `docs/errors.md` say to do. */
export async function generateAdvice(): Promise<string> {
  const text = await readFile('docs/errors.md', 'utf8')
  const rows = [...text.matchAll(/^\| `([A-Z_]+)` \| \d{3} \|.*\| ([^|]+) \|$/gm)]
  const lines = rows.map(([, code = '', advice = '']) => `  ${code}: ${JSON.stringify(toPlain(advice))},\n`)
  return `/* From docs/errors.md: ${COMMAND} */\nexport const ADVICE = {\n${lines.join('')}} as const\n`
}

const toPlain = (markdown: string): string => markdown.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '')
