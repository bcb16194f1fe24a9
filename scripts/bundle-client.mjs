import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'

/** Writes `wharf/client` to `dist/client/`: one file that needs no package, and the types beside it. @returns what is in it, as esbuild says it. */
export async function bundleClient(root) {
  await rm(join(root, 'dist/client'), { recursive: true, force: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/client/index.ts'],
    outdir: 'dist/client',
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    metafile: true,
    logLevel: 'warning',
  })
  const packageFile = createRequire(import.meta.url).resolve('typescript/package.json')
  const tsc = join(dirname(packageFile), 'bin/tsc')
  await promisify(execFile)(process.execPath, [tsc, '-p', 'src/client'], { cwd: root })
  return metafile
}
