import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** Of 64 KiB each: up to `OUTPUT_END` in `memory.ts`, and one behind it. */
const PAGES = '209'

/** Without a heap and its collector: what the module reads and writes has fixed places. */
const OPTIONS = ['-O3', '--converge', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--use', 'abort=']

/** The text of `src/wasm/generated/module.ts`: what AssemblyScript makes of `src/wasm/assembly`. */
export async function generateRowModule(): Promise<string> {
  const compiler = join(ROOT, 'node_modules/assemblyscript/bin/asc.js')
  const folder = await mkdtemp(join(tmpdir(), 'wharf-row-module-'))
  try {
    const output = join(folder, 'module.wasm')
    const memory = ['--initialMemory', PAGES, '--maximumMemory', PAGES]
    const files = ['src/wasm/assembly/index.ts', '--outFile', output]
    await promisify(execFile)(process.execPath, [compiler, ...files, ...OPTIONS, ...memory], { cwd: ROOT })
    const base64 = (await readFile(output)).toString('base64')
    return `/*\n * Made from src/wasm/assembly: npx vitest run test/wasm/generated.test.ts -u\n */\nexport const MODULE = '${base64}'\n`
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
