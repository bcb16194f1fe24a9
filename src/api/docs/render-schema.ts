import type { oas31 } from 'zod-openapi'
import { type Html, html, join, prose } from '../html.ts'
import { SCHEMAS_PATH } from './operations.ts'

type Schema = oas31.SchemaObject | oas31.ReferenceObject

const isReference = (schema: Schema): schema is oas31.ReferenceObject => typeof schema.$ref === 'string'

/** What a value is, in a few words; named schemas are linked. */
export function renderType(schema: Schema): Html {
  if (isReference(schema)) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
    return html`<a href="${SCHEMAS_PATH}#schema-${name}">${name}</a>`
  }
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (schema.enum)
    return join(
      schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`),
      ' or ',
    )
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return join(alternatives.map(renderType), ' or ')
  if (schema.allOf) return join(schema.allOf.map(renderType), ' and ')
  if (schema.type === 'array') return html`array of ${schema.items ? renderType(schema.items) : 'anything'}`
  if (typeof schema.additionalProperties === 'object' && !schema.properties) {
    return html`object of ${renderType(schema.additionalProperties)}`
  }
  const type = [schema.type ?? 'anything'].flat().join(' or ')
  return html`${type}${schema.format && ` (${schema.format})`}${renderRange(schema)}`
}

function renderRange({ minimum, maximum, default: fallback }: oas31.SchemaObject): Html {
  const limits = [
    minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER && ` from ${minimum}`,
    maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER && ` to ${maximum}`,
  ].filter((limit) => limit !== false)
  return html`${limits.length > 0 && `,${limits.join('')}`}${fallback !== undefined && `, default ${JSON.stringify(fallback)}`}`
}

/** The fields of an object, or of the objects in an array or among alternatives; nothing for anything else. */
export function renderFields(schema: Schema): Html {
  if (isReference(schema)) return html``
  const inner = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  const nested = inner.filter((part) => typeof part === 'object').map(renderFields)
  const fields = Object.entries(schema.properties ?? {})
  if (fields.length === 0) return html`${nested}`
  return html`<dl class="fields">${fields.map(([name, field]) => {
    const needed = schema.required?.includes(name) ? 'required' : 'optional'
    return html`<dt><code>${name}</code> <span class="quiet">${needed}</span></dt>
<dd>${renderType(field)}${typeof field.description === 'string' && html`<p>${prose(field.description)}</p>`}${renderFields(field)}</dd>`
  })}</dl>${nested}`
}
