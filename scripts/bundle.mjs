/**
 * Writes the program to `dist/`, as few files instead of some hundred: to load its modules one by one would be a fifth of
 * a start. Packages stay where npm puts them. The page that it serves comes with it, see `bundleConsole`, and so do the
 * client for scripts, see `bundleClient`, and the pages at `/docs`, see `bundleDocs`.
 *
 * Usage: node scripts/bundle.mjs
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { bundleClient } from './bundle-client.mjs'
import { bundleConsole } from './bundle-console.mjs'
import { bundleDocs } from './bundle-docs.mjs'

const root = fileURLToPath(new URL('../', import.meta.url))

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts'],
  // All in one folder, which sees the package's other files where `src/` sees them.
  outdir: 'dist',
  bundle: true,
  splitting: true,
  packages: 'external',
  platform: 'node',
  target: 'node20',
  format: 'esm',
  sourcemap: true,
  sourcesContent: false,
  metafile: true,
  logLevel: 'warning',
})

await bundleConsole(root)
await bundleClient(root)
await bundleDocs(root)

// Only now: a program that runs from there has what it may still load for as long as possible.
for (const entry of await readdir(join(root, 'dist'))) {
  if (!['console', 'client', 'docs'].includes(entry) && !(`dist/${entry}` in metafile.outputs))
    await rm(join(root, 'dist', entry), { recursive: true })
}
