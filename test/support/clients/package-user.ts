import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { isThorough } from '../thorough.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Checks types as TypeScript 7 does, and, if tests are thorough, as TypeScript 5, which takes seven times as long. */
const COMPILERS = ['typescript/bin/tsc', ...(isThorough ? ['typescript-5/bin/tsc'] : [])].map((path) => {
  const [name = '', ...rest] = path.split('/')
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), ...rest)
})

const TSCONFIG = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023'],
    types: ['node'],
    strict: true,
    noEmit: true,
  },
}

/** A folder of somebody who has installed the package as it was built, and writes scripts. */
export async function installPackage() {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-'))
  const modules = join(folder, 'node_modules')
  await mkdir(join(modules, '@types'), { recursive: true })
  await symlink(ROOT, join(modules, 'wharf'))
  for (const name of ['@types/node', 'undici-types'])
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ ...TSCONFIG, include: ['*.ts'] }))
  return {
    remove: (): Promise<void> => rm(folder, { recursive: true, force: true }),
    write: (name: string, script: string): Promise<void> => writeFile(join(folder, name), script),
    /** @returns what the compilers say, which is nothing where all is well. */
    async checkTypes(): Promise<string> {
      const said = await Promise.all(
        COMPILERS.map((path) =>
          run(process.execPath, [path, '-p', folder]).then(
            () => '',
            (error: { readonly stdout: string }) => error.stdout,
          ),
        ),
      )
      return said.join('')
    },
    /** Runs a script as Node.js does that knows no types. @returns what it printed. */
    async run(name: string, environment: Readonly<Record<string, string>>, node = process.execPath): Promise<string> {
      const { code } = await transform(await readFile(join(folder, name), 'utf8'), { loader: 'ts', format: 'esm' })
      const script = join(folder, name.replace(/\.ts$/, '.js'))
      await writeFile(script, code)
      const env = { PATH: process.env.PATH, ...environment }
      return (await run(node, [script], { cwd: folder, env })).stdout
    },
  }
}
