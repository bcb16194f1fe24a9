import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const SCRIPTS = fileURLToPath(new URL('.', import.meta.url))

/** What runs in processes of its own: the built program, and scripts of this folder. */
const ENTRIES = [
  join(ROOT, 'dist/main.js'),
  ...['run-main.mjs', 'run-part.mjs'].map((name) => join(SCRIPTS, name)),
  ...['run-ask-password.ts', 'run-data-folder-lock.ts', 'run-embedded-postgres.ts', 'run-spool.ts'].map((name) =>
    join(SCRIPTS, name),
  ),
]

/** Packages that load other files of theirs than modules. */
const APART = ['libpg-query', 'embedded-postgres', '@aws-sdk/client-s3']

/**
 * Writes what tests run in processes of its own as few files: to load the modules of the program one by one is a second
 * of processor time for each process, and two thirds of what its start takes.
 *
 * Each module finds the files beside it where it found them before. @param folder gets `main.js` and the scripts.
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
    // The program, which is bundled already, imports Prisma's runtime for its types as well.
    logOverride: { 'ignored-bare-import': 'silent' },
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
    bundler.onResolve({ filter: new RegExp(`^(${APART.join('|')})$`) }, ({ path, pluginData, ...options }) => {
      if (pluginData === APART) return undefined
      return bundler
        .resolve(path, { ...options, pluginData: APART })
        .then((found) => ({ path: pathToFileURL(found.path).href, external: true }))
    })
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
