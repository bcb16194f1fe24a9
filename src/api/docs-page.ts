import { createHash } from 'node:crypto'
import type { oas31 } from 'zod-openapi'
import { type Html, html, join, prose, raw } from './html.ts'
import type { OpenApiDocument } from './openapi.ts'
import { renderFields, renderType } from './render-schema.ts'

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1.5rem }
code, .path { font-family: ui-monospace, monospace; font-size: .92em }
nav ul { columns: 18rem; padding-left: 1.2rem } h2 { margin-top: 2.5rem; text-transform: capitalize }
section { border: 1px solid var(--line); border-radius: 6px; padding: .2rem 1rem 1rem; margin: 1rem 0 }
h3 { margin-bottom: 0 } h4 { margin: 1rem 0 .2rem } .method { font-weight: 700; margin-right: .4rem }
table { border-collapse: collapse; width: 100% }
td, th { border-top: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top }
td > table { background: var(--soft); margin: .3rem 0 } .needed { opacity: .7; font-size: .85em }
`

/** Allows the page its own style and nothing else. */
export const DOCS_PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join(';')

interface Operation {
  readonly method: string
  readonly path: string
  readonly operation: oas31.OperationObject
}

/** Renders an OpenAPI document as one page that needs nothing else: no script, no font, no other request. */
export function renderDocsPage(document: OpenApiDocument): string {
  const byTag = groupByTag(operationsOf(document))
  const { title, version, description = '' } = document.info
  const page = html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} HTTP interface</title>
<style>${raw(STYLE)}</style></head>
<body>
<h1>${title} <small>${version}</small></h1>
<p>${prose(description)}</p>
<p>The same for programs: <a href="openapi.json">openapi.json</a>.</p>
<nav>${byTag.map(([tag, operations]) => html`<h4>${tag}</h4><ul>${operations.map(renderLink)}</ul>`)}</nav>
${byTag.map(([tag, operations]) => html`<h2>${tag}</h2>${operations.map(renderOperation)}`)}
<h2>Schemas</h2>
${Object.entries(document.components?.schemas ?? {}).map(renderComponent)}
</body>
</html>`
  return page.text
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

const operationsOf = ({ paths = {} }: OpenApiDocument): Operation[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      return operation ? [{ method: method.toUpperCase(), path, operation }] : []
    }),
  )

function groupByTag(operations: readonly Operation[]): [string, Operation[]][] {
  const groups = new Map<string, Operation[]>()
  for (const entry of operations) {
    const tag = entry.operation.tags?.[0] ?? 'other'
    groups.set(tag, [...(groups.get(tag) ?? []), entry])
  }
  return [...groups]
}

const renderName = ({ method, path }: Operation): Html =>
  html`<span class="method">${method}</span><span class="path">${path}</span>`

const renderLink = (entry: Operation): Html =>
  html`<li><a href="#${entry.operation.operationId}">${renderName(entry)}</a></li>`

function renderOperation(entry: Operation): Html {
  const { operationId, summary = '', description = '', security = [], requestBody, responses = {} } = entry.operation
  const body = requestBody && 'content' in requestBody ? requestBody : undefined
  return html`<section id="${operationId}">
<h3>${renderName(entry)}</h3>
<p>${prose(summary)} ${security.length > 0 ? '' : html`<span class="needed">No token needed.</span>`}</p>
${description && html`<p>${prose(description)}</p>`}
${renderParameters(entry.operation)}
${body && html`<h4>Body</h4><p>${prose(body.description)}</p>${renderContent(body.content)}`}
<h4>Answers</h4>
<table>${Object.entries(responses).map(renderResponse)}</table>
</section>`
}

function renderParameters({ parameters = [] }: oas31.OperationObject): Html {
  const rows = parameters.flatMap((parameter) => {
    if ('$ref' in parameter) return []
    const { name, required, description, schema } = parameter
    return html`<tr><td><code>${name}</code> <span class="needed">${parameter.in}${required ? ', required' : ''}</span></td>
<td>${schema && renderType(schema)}</td><td>${prose(description)}</td></tr>`
  })
  return rows.length > 0 ? html`<h4>Parameters</h4><table>${rows}</table>` : html``
}

function renderResponse([status, response]: [string, oas31.ResponseObject]): Html {
  const headers = Object.keys(response.headers ?? {}).filter((name) => name !== 'X-Request-Id')
  return html`<tr><th>${status}</th><td>${prose(response.description)}
${headers.length > 0 && html`<br><span class="needed">Headers: ${join(headers, ', ')}</span>`}
${status < '400' && response.content && renderContent(response.content)}</td></tr>`
}

const renderContent = (content: oas31.ContentObject): Html[] =>
  Object.entries(content).map(
    ([mediaType, { schema }]) =>
      html`<p><code>${mediaType}</code> ${schema && renderType(schema)}</p>${schema && renderFields(schema)}`,
  )

const renderComponent = ([name, schema]: [string, oas31.SchemaObject | oas31.ReferenceObject]): Html =>
  html`<section id="schema-${name}"><h3>${name}</h3><p>${prose(schema.description)}</p>
<p>${renderType(schema)}</p>${renderFields(schema)}</section>`
