import type { oas31 } from 'zod-openapi'
import { type Html, html, join, prose } from '../html.ts'
import { examplesOf } from './examples.ts'
import { renderName } from './layout.ts'
import { bodyOf, needsToken, type Operation, parametersOf } from './operations.ts'
import { renderFields, renderType } from './render-schema.ts'

export function renderOperation(entry: Operation): Html {
  const { summary = '', description = '', responses = {} } = entry.operation
  const answers = Object.entries(responses)
  const isGood = ([status]: readonly [string, unknown]): boolean => status < '400'
  return html`<section id="${entry.id}" class="operation">
<h2><a href="#${entry.id}">${renderName(entry)}</a></h2>
<p class="summary">${prose(summary)}.</p>
${description && html`<p>${prose(description)}</p>`}
${!needsToken(entry) && html`<p class="quiet">No token needed.</p>`}
${renderExamples(entry)}
${renderParameters(parametersOf(entry))}
${renderBody(entry)}
<h3>Answers</h3>
<dl class="fields">${answers.filter(isGood).map(renderAnswer)}</dl>
<details><summary>Errors</summary><dl class="fields">${answers.filter((answer) => !isGood(answer)).map(renderAnswer)}</dl></details>
</section>`
}

function renderExamples(entry: Operation): Html {
  const { curl, typescript } = examplesOf(entry)
  return html`${renderExample('curl', curl, entry)}${renderExample('TypeScript', typescript, entry)}`
}

const renderExample = (language: string, code: string, { id }: Operation): Html =>
  html`<div class="example"><h3>${language}</h3>
<button type="button" class="copy" hidden aria-label="Copy ${language} of ${id}">Copy</button>
<pre tabindex="0"><code>${code}</code></pre></div>`

function renderParameters(parameters: readonly oas31.ParameterObject[]): Html {
  if (parameters.length === 0) return html``
  return html`<h3>Parameters</h3><dl class="fields">${parameters.map(
    ({ name, required, description, schema, in: part }) =>
      html`<dt><code>${name}</code> <span class="quiet">${part}${required && ', required'}</span></dt>
<dd>${schema && renderType(schema)}${description && html`<p>${prose(description)}</p>`}</dd>`,
  )}</dl>`
}

function renderBody(entry: Operation): Html {
  const body = bodyOf(entry)
  if (!body) return html``
  const { mediaType, schema, description } = body
  return html`<h3>Body</h3>${description && html`<p>${prose(description)}</p>`}
<p><code>${mediaType}</code> ${schema && renderType(schema)}</p>${schema && renderFields(schema)}`
}

function renderAnswer([status, answer]: [string, oas31.ResponseObject]): Html {
  const headers = Object.keys(answer.headers ?? {}).filter((name) => name !== 'X-Request-Id')
  const isGood = status < '400'
  return html`<dt>${status}</dt><dd><p>${prose(answer.description)}</p>
${
  headers.length > 0 &&
  html`<p class="quiet">Headers: ${join(
    headers.map((name) => html`<code>${name}</code>`),
    ', ',
  )}</p>`
}
${isGood && answer.content && renderContent(answer.content)}</dd>`
}

/** The types of a body that has one form, and that form. */
function renderContent(content: oas31.ContentObject): Html {
  const types = Object.keys(content)
  const schema = Object.values(content)[0]?.schema
  const fields = schema && renderFields(schema)
  return html`<p>${join(
    types.map((type) => html`<code>${type}</code>`),
    ', ',
  )} ${schema && renderType(schema)}</p>
${fields && fields.text !== '' && html`<details><summary>Fields</summary>${fields}</details>`}`
}
