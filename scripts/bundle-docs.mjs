import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join, posix } from 'node:path'
import { build } from 'esbuild'
import GithubSlugger from 'github-slugger'
import MarkdownIt from 'markdown-it'

/** Texts beside `docs/` that the README leads to. */
const BESIDE = ['SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'bench/README.md']

/**
 * Writes the pages at `/docs` to `dist/docs/`: their script, style and pictures, and as HTML the guides of `docs/`, the texts
 * beside it, and each other file that one of them leads to.
 *
 * @throws where a link leads to no file.
 */
export async function bundleDocs(root) {
  await rm(join(root, 'dist/docs'), { recursive: true, force: true })
  const inDocs = await readdir(join(root, 'docs'), { recursive: true })
  const ending = (end) => inDocs.filter((name) => name.endsWith(end)).map((name) => `docs/${name}`)
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/docs/main.ts', 'src/docs/style.css', 'src/console/icon.svg', ...ending('.png')],
    outdir: 'dist/docs/files',
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    platform: 'browser',
    target: 'es2023',
    format: 'esm',
    loader: { '.svg': 'copy', '.png': 'copy' },
    metafile: true,
    logLevel: 'warning',
  })
  const site = {
    texts: new Set(['README.md', ...ending('.md').sort(), ...BESIDE]),
    pictures: new Map(),
    files: new Set(),
  }
  for (const [output, { inputs }] of Object.entries(metafile.outputs)) {
    for (const input of Object.keys(inputs)) site.pictures.set(input, `/docs/files/${basename(output)}`)
  }
  const guides = []
  for (const name of site.texts) guides.push(renderGuide(site, name, await readFile(join(root, name), 'utf8')))
  for (const name of site.files) guides.push(await renderFiles(root, name))
  await mkdir(join(root, 'dist/docs'), { recursive: true })
  await writeFile(join(root, 'dist/docs/guides.json'), JSON.stringify(guides))
  return metafile
}

/** HTML in Markdown stays text, and links lead to nothing but pages: what comes out may stand in a page as it is. */
const markdown = new MarkdownIt({ html: false, linkify: false })
markdown.renderer.rules.table_open = () => '<div class="scrolls" tabindex="0" role="group" aria-label="Table"><table>\n'
markdown.renderer.rules.table_close = () => '</table></div>\n'
// Long lines are scrolled to, by the keyboard too.
const renderFence = markdown.renderer.rules.fence
markdown.renderer.rules.fence = (...given) => renderFence(...given).replace('<pre>', '<pre tabindex="0">')

/** Without `docs/`, and without what makes a file the text of its folder: `docs/monitoring/README.md` is at `/docs/monitoring`. */
const pathOf = (name) =>
  name === 'README.md'
    ? '/docs/readme'
    : `/docs/${name.replace(/^docs\//, '').replace(/(\/README)?\.md$|\/$/, '')}`.toLowerCase()

function renderGuide(site, name, text) {
  const tokens = markdown.parse(text, {})
  const slugger = new GithubSlugger()
  const sections = []
  for (const [index, token] of tokens.entries()) {
    const inline = tokens[index + 1]
    if (token.type === 'heading_open') {
      const title = inline.children.map(({ content }) => content).join('')
      const id = slugger.slug(title)
      token.attrSet('id', id)
      sections.push({ title, id, text: '' })
    } else if (sections.length > 0 && ['inline', 'fence'].includes(token.type)) {
      sections.at(-1).text += ` ${token.content}`
    }
    for (const child of token.children ?? []) {
      if (child.type === 'link_open') leadOn(site, child, name)
      if (child.type === 'image') child.attrSet('src', site.pictures.get(besides(name, child.attrGet('src'))))
    }
  }
  const title = name === 'README.md' ? 'Read me first' : sections[0].title
  const path = pathOf(name)
  return {
    path,
    title,
    isListed: true,
    html: markdown.renderer.render(tokens, markdown.options, {}),
    searched: sections.map((section, index) => ({
      title: index === 0 ? title : section.title,
      kind: index === 0 ? 'Guide' : title,
      path: index === 0 ? path : `${path}#${section.id}`,
      text: section.text,
    })),
  }
}

/** A page of a file as it is, or of each file of a folder. */
async function renderFiles(root, name) {
  const names = name.endsWith('/') ? (await readdir(join(root, name))).sort().map((file) => name + file) : [name]
  const texts = await Promise.all(names.map((file) => readFile(join(root, file), 'utf8')))
  const title = name.replace(/^docs\//, '')
  const { escapeHtml } = markdown.utils
  const files = names.map((file, index) => {
    const own = escapeHtml(basename(file))
    return `<div class="example"><h2>${own}</h2><button type="button" class="copy" hidden aria-label="Copy ${own}">Copy</button>
<pre tabindex="0"><code>${escapeHtml(texts[index])}</code></pre></div>`
  })
  const path = pathOf(name)
  return {
    path,
    title,
    isListed: false,
    html: `<h1>${escapeHtml(title)}</h1>${files.join('')}`,
    searched: [{ title, kind: 'File', path, text: texts.join(' ') }],
  }
}

/** Where a link of a file leads, seen from the root of the repository. */
const besides = (name, link) => posix.join(posix.dirname(name), link)

/** Leads from page to page as the files do. */
function leadOn(site, link, name) {
  const [file, anchor] = link.attrGet('href').split('#')
  if (/^[a-z]+:/.test(file) || file === '') return
  const target = besides(name, file)
  if (target.endsWith('.md') && !site.texts.has(target)) throw new Error(`${name} leads to ${file}, which has no page`)
  if (!target.endsWith('.md')) site.files.add(target)
  link.attrSet('href', pathOf(target) + (anchor === undefined ? '' : `#${anchor}`))
}
