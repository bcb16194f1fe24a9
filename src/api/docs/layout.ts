import { type Html, html, raw } from '../html.ts'
import { groupByTag, type Operation, operationPath, SCHEMAS_PATH, tagPath } from './operations.ts'

/** The files that every page needs, by what they are. */
export interface PageAssets {
  readonly script: string
  readonly style: string
  readonly icon: string
}

/** What every page leads to. */
export interface Contents {
  readonly guides: readonly { readonly path: string; readonly title: string }[]
  readonly operations: readonly Operation[]
}

export interface PageText {
  readonly path: string
  readonly title: string
  readonly body: Html
}

/** A whole page, with search and contents around its text. */
export function renderPage(assets: PageAssets, contents: Contents, { path, title, body }: PageText): string {
  const current = (target: string): Html => (target === path ? raw(' aria-current="page"') : raw(''))
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title} · Wharf</title>
<link rel="icon" href="${assets.icon}">
<link rel="stylesheet" href="${assets.style}">
<script type="module" src="${assets.script}"></script>
</head>
<body>
<header>
<a href="/docs"${current('/docs')}><strong>Wharf</strong> docs</a>
<search>
<label for="search" class="spoken">Search</label>
<input id="search" type="search" placeholder="Search ( / )" autocomplete="off" spellcheck="false">
</search>
<a class="to-contents" href="#contents">Contents</a>
<a href="/">Console</a>
</header>
<section id="found" aria-label="What was found" hidden><p role="status"></p><ul></ul></section>
<div class="page">
<main>${body}</main>
<nav id="contents" aria-label="Contents">
<h2>Guides</h2>
<ul>${contents.guides.map((guide) => html`<li><a href="${guide.path}"${current(guide.path)}>${guide.title}</a></li>`)}</ul>
<h2>HTTP interface</h2>
<ul>${[...groupByTag(contents.operations)].map(
    ([tag, operations]) => html`<li><a href="${tagPath(tag)}"${current(tagPath(tag))}>${tag}</a>
${tagPath(tag) === path && html`<ul>${operations.map((entry) => html`<li><a href="${operationPath(entry)}">${renderName(entry)}</a></li>`)}</ul>`}</li>`,
  )}
<li><a href="${SCHEMAS_PATH}"${current(SCHEMAS_PATH)}>Schemas</a></li>
<li><a href="/openapi.json">openapi.json</a></li></ul>
</nav>
</div>
</body>
</html>`
  return page.text
}

/** Method and path; a long path may break before each of its parts. */
export const renderName = ({ method, path }: Operation): Html =>
  html`<span class="method ${method.toLowerCase()}">${method}</span> <code>${path.split(/(?=\/)/).map((part) => html`<wbr>${part}`)}</code>`
