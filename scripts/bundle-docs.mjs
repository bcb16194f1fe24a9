import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, posix, relative } from 'node:path'
import { build } from 'esbuild'
import GithubSlugger from 'github-slugger'
import MarkdownIt from 'markdown-it'

/** Writes the pages at `/docs` to `dist/docs/`: their script and style, and the guides of `docs/` as HTML. */
export async function bundleDocs(root) {
  await rm(join(root, 'dist/docs'), { recursive: true, force: true })
  await build({
    absWorkingDir: root,
    entryPoints: ['src/docs/main.ts', 'src/docs/style.css', 'src/console/icon.svg'],
    outdir: 'dist/docs/files',
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    platform: 'browser',
    target: 'es2023',
    format: 'esm',
    loader: { '.svg': 'copy' },
    logLevel: 'warning',
  })
  const folder = join(root, 'docs')
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.md')).sort()
  const guides = await Promise.all(
    names.map(async (name) =>
      renderGuide(relative(folder, join(folder, name)), await readFile(join(folder, name), 'utf8')),
    ),
  )
  await mkdir(join(root, 'dist/docs'), { recursive: true })
  await writeFile(join(root, 'dist/docs/guides.json'), JSON.stringify(guides))
}

/** HTML in Markdown stays text, and links lead to nothing but pages: what comes out may stand in a page as it is. */
const markdown = new MarkdownIt({ html: false, linkify: false })
markdown.renderer.rules.table_open = () => '<div class="scrolls" tabindex="0" role="group" aria-label="Table"><table>\n'
markdown.renderer.rules.table_close = () => '</table></div>\n'

const pathOf = (name) => `/docs/${name.replace(/(\/README)?\.md$/, '')}`

function renderGuide(name, text) {
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
    for (const child of token.children ?? []) if (child.type === 'link_open') leadOn(child, name)
  }
  const [{ title }] = sections
  const path = pathOf(name)
  return {
    path,
    title,
    html: markdown.renderer.render(tokens, markdown.options, {}),
    searched: sections.map((section, index) => ({
      title: section.title,
      kind: index === 0 ? 'Guide' : title,
      path: index === 0 ? path : `${path}#${section.id}`,
      text: section.text,
    })),
  }
}

/** Leads from page to page as the files do. What is no page, such as a file beside, is left to its name. */
function leadOn(link, name) {
  const [file, anchor] = link.attrGet('href').split('#')
  if (/^[a-z]+:/.test(file) || file === '') return
  const target = posix.join(dirname(name), file)
  if (!target.endsWith('.md') || target.startsWith('..')) {
    link.attrs = [['title', file]]
    link.tag = 'span'
    return
  }
  link.attrSet('href', pathOf(target) + (anchor === undefined ? '' : `#${anchor}`))
}
