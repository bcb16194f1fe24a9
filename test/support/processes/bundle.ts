import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const SCRIPTS = fileURLToPath(new URL('.', import.meta.url))

/** What runs in processes of its own beside the built program: scripts of this folder. */
const ENTRIES = [
  ...['run-main.mjs', 'run-part.mjs'].map((name) => join(SCRIPTS, name)),
  ...['run-ask-password.ts', 'run-data-folder-lock.ts', 'run-embedded-postgres.ts', 'run-gzip.ts', 'run-spool.ts'].map(
    (name) => join(SCRIPTS, name),
  ),
]

/**
 * Writes what tests run in processes of its own as few files: to load the modules of the program one by one is a second
 * of processor time for each process, and two thirds of what its start takes.
 *
 * Each module finds the files beside it where it found them before. @param folder gets the scripts.
 */
export async function bundlePrograms(folder: string): Promise<void> {
  await build({
    entryPoints: ENTRIES,
    entryNames: '[name]',
    outdir: folder,
    bundle: true,
    // To read comments and indentation is a tenth of a start.
    minifyWhitespace: true,
    splitting: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    logLevel: 'warning',
    external: ['msgpackr-extract', 'pg-native'],
    banner: {
      js: `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`,
    },
    plugins: [KEEP_PATHS],
  })
}

/** Lets modules know the paths that they had. */
const KEEP_PATHS: Plugin = {
  name: 'keep paths',
  setup(bundler) {
    bundler.onLoad({ filter: /\.[cm]?[jt]s$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const url = JSON.stringify(pathToFileURL(path).href)
      const paths = `const __filename = ${JSON.stringify(path)}, __dirname = ${JSON.stringify(dirname(path))};`
      const isOld = path.includes('/node_modules/') && /\b__(dirname|filename)\b/.test(text)
      return {
        contents: `${isOld ? paths : ''}${text.replaceAll('import.meta.url', url)}`,
        loader: path.endsWith('ts') ? 'ts' : 'js',
      }
    })
  },
}
