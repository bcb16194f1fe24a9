import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { build } from 'esbuild'

const SOURCES = { script: 'src/console/main.tsx', style: 'src/console/style.css', icon: 'src/console/icon.svg' }

/** Writes the page at `/` to `dist/console/`. What its files hold is in their names, so that browsers keep them for ever. */
export async function bundleConsole(root) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.values(SOURCES),
    outdir: 'dist/console',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    // The sign-in comes first, and is small; all else is loaded while a token is looked for.
    splitting: true,
    minify: true,
    platform: 'browser',
    target: 'es2023',
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'copy' },
    metafile: true,
    logLevel: 'warning',
  })
  let page = await readFile(join(root, 'src/console/index.html'), 'utf8')
  for (const [name, source] of Object.entries(SOURCES)) {
    const [path] = Object.entries(metafile.outputs).find(([, { inputs, entryPoint }]) =>
      entryPoint === undefined ? source in inputs : entryPoint === source,
    )
    page = page.replace(`%${name}%`, basename(path))
    if (name === 'script') page = page.replace('%preloads%', preloadsOf(metafile.outputs[path]))
  }
  await writeFile(join(root, 'dist/console/index.html'), page)
  const made = new Set([...Object.keys(metafile.outputs).map((path) => basename(path)), 'index.html'])
  for (const entry of await readdir(join(root, 'dist/console'))) {
    if (!made.has(entry)) await rm(join(root, 'dist/console', entry))
  }
  return metafile
}

/** So that files which a script cannot do without are asked for with it, instead of once it is there. */
const preloadsOf = ({ imports }) =>
  imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `<link rel="modulepreload" href="/console/${basename(path)}">\n`)
    .join('')
