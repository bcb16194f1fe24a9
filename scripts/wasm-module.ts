import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

interface Source {
  /** The folder that has `assembly` and `generated`. */
  readonly folder: string
  /** How much memory the module has, in pages of 64 KiB. */
  readonly pages: number
}

/** Up to `OUTPUT_END` in its `memory.ts`, and one page behind it. */
export const ROWS: Source = { folder: 'src/wasm', pages: 209 }

/** Up to `OUTPUT` in its `memory.ts`, room for what comes of 1 MiB, and one page behind it. */
export const DEFLATE: Source = { folder: 'src/compression', pages: 41 }

/** Without a heap and its collector: what a module reads and writes has fixed places. */
const OPTIONS = ['-O3', '--converge', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--use', 'abort=']

/** The text of `generated/module.ts`: what AssemblyScript makes of `assembly` beside it. */
export async function generateModule({ folder, pages }: Source): Promise<string> {
  const base64 = (await compileModule(`${folder}/assembly/index.ts`, pages)).toString('base64')
  const tests = folder.replace('src', 'test')
  return `/*\n * Made from ${folder}/assembly: npx vitest run ${tests}/generated.test.ts -u\n */\nexport const MODULE = '${base64}'\n`
}

/** @param entry its path in the repository. @param pages of memory. @returns the module that AssemblyScript makes of it. */
export async function compileModule(entry: string, pages: number): Promise<Buffer> {
  const compiler = join(ROOT, 'node_modules/assemblyscript/bin/asc.js')
  const folder = await mkdtemp(join(tmpdir(), 'wharf-module-'))
  try {
    const output = join(folder, 'module.wasm')
    const memory = ['--initialMemory', String(pages), '--maximumMemory', String(pages)]
    const files = [entry, '--outFile', output]
    await promisify(execFile)(process.execPath, [compiler, ...files, ...OPTIONS, ...memory], { cwd: ROOT })
    return await readFile(output)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
