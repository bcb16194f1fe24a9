import { type Html, html, prose, raw } from '../html.ts'
import type { OpenApiDocument } from '../openapi.ts'
import type { Guide } from './guides.ts'
import { type Contents, type PageAssets, type PageText, renderName, renderPage } from './layout.ts'
import { groupByTag, type Operation, operationPath, operationsOf, SCHEMAS_PATH, tagPath } from './operations.ts'
import { renderOperation } from './render-operation.ts'
import { renderFields, renderType } from './render-schema.ts'

/** What search finds, and where it is. */
interface Searched {
  readonly title: string
  readonly kind: string
  readonly path: string
  readonly text: string
}

export interface Docs {
  /** By path: `/docs`, `/docs/jobs`, `/docs/api/jobs`. */
  readonly pages: ReadonlyMap<string, string>
  readonly searched: readonly Searched[]
}

/** Renders the description of the HTTP interface, and the guides beside it. */
export function renderDocs(document: OpenApiDocument, guides: readonly Guide[], assets: PageAssets): Docs {
  const operations = operationsOf(document)
  const contents = { guides: guides.filter(({ isListed }) => isListed), operations }
  const pages: PageText[] = [
    { path: '/docs', title: 'Docs', body: renderStart(document, contents) },
    ...[...groupByTag(operations)].map(([tag, ofTag]) => ({
      path: tagPath(tag),
      title: tag,
      body: html`<h1>${tag}</h1>${ofTag.map(renderOperation)}`,
    })),
    { path: SCHEMAS_PATH, title: 'Schemas', body: renderSchemas(document) },
    // Made from Markdown without HTML of its own, when the package was built.
    ...guides.map((guide) => ({ ...guide, body: raw(guide.html) })),
  ]
  return {
    pages: new Map(pages.map((page) => [page.path, renderPage(assets, contents, page)])),
    searched: [...operations.map(toSearched), ...guides.flatMap(({ searched }) => searched)],
  }
}

const toSearched = (entry: Operation): Searched => ({
  title: `${entry.method} ${entry.path}`,
  kind: entry.tag,
  path: operationPath(entry),
  text: [entry.operation.summary, entry.operation.description, entry.id].filter(Boolean).join('. '),
})

function renderStart({ info }: OpenApiDocument, { guides, operations }: Contents): Html {
  return html`<h1>${info.title} <small>${info.version}</small></h1>
<p>${prose(info.description)}</p>
<h2>To run the examples</h2>
<p>Examples take the address and your token from two variables. The token is typed in, so that no history keeps it.</p>
<div class="example"><h3>Shell</h3><button type="button" class="copy" hidden aria-label="Copy the variables">Copy</button>
<pre tabindex="0"><code>export WHARF_URL=<span class="origin">http://127.0.0.1:4000</span>
read -rs WHARF_TOKEN &amp;&amp; export WHARF_TOKEN</code></pre></div>
<p>Those in TypeScript use <a href="/docs/client"><code>wharf/client</code></a>, which comes with the package.</p>
<h2>Guides</h2>
<ul>${guides.map(({ path, title }) => html`<li><a href="${path}">${title}</a></li>`)}</ul>
<h2>HTTP interface</h2>
<p>The same for programs: <a href="/openapi.json">openapi.json</a>. What answers hold: <a href="${SCHEMAS_PATH}">schemas</a>.</p>
${[...groupByTag(operations)].map(
  ([tag, ofTag]) => html`<h3><a href="${tagPath(tag)}">${tag}</a></h3>
<dl class="operations">${ofTag.map(
    (entry) => html`<dt id="${entry.id}"><a href="${operationPath(entry)}">${renderName(entry)}</a></dt>
<dd>${prose(entry.operation.summary)}</dd>`,
  )}</dl>`,
)}`
}

const renderSchemas = ({ components }: OpenApiDocument): Html =>
  html`<h1>Schemas</h1>${Object.entries(components?.schemas ?? {}).map(
    ([
      name,
      schema,
    ]) => html`<section id="schema-${name}" class="operation"><h2><a href="#schema-${name}">${name}</a></h2>
${typeof schema.description === 'string' && html`<p>${prose(schema.description)}</p>`}<p>${renderType(schema)}</p>${renderFields(schema)}</section>`,
  )}`
