import type { oas31 } from 'zod-openapi'
import type { OpenApiDocument } from '../openapi.ts'

/** A call of the HTTP interface, as it is described. */
export interface Operation {
  /** In capitals. */
  readonly method: string
  readonly path: string
  readonly id: string
  readonly tag: string
  readonly operation: oas31.OperationObject
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

export const operationsOf = ({ paths = {} }: OpenApiDocument): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      if (!operation) return []
      const { operationId: id = '', tags: [tag = 'Other'] = [] } = operation
      return [
        { method: method.toUpperCase(), path, id, tag: `${tag.charAt(0).toUpperCase()}${tag.slice(1)}`, operation },
      ]
    }),
  )

/** The calls by tag, in the order in which they are described. */
export function groupByTag(operations: readonly Operation[]): ReadonlyMap<string, readonly Operation[]> {
  const groups = new Map<string, Operation[]>()
  for (const entry of operations) groups.set(entry.tag, [...(groups.get(entry.tag) ?? []), entry])
  return groups
}

export const tagPath = (tag: string): string => `/docs/api/${tag.toLowerCase()}`

export const operationPath = ({ tag, id }: Operation): string => `${tagPath(tag)}#${id}`

export const SCHEMAS_PATH = '/docs/api/schemas'

/** The parameters that are described in place. */
export const parametersOf = ({ operation: { parameters = [] } }: Operation): readonly oas31.ParameterObject[] =>
  parameters.filter((parameter): parameter is oas31.ParameterObject => !('$ref' in parameter))

/** The body that it takes, with its media type. */
export function bodyOf({ operation: { requestBody } }: Operation) {
  if (!requestBody || !('content' in requestBody)) return undefined
  const [[mediaType, { schema }] = ['', {}]] = Object.entries(requestBody.content)
  return { mediaType, schema, description: requestBody.description }
}

export const needsToken = ({ operation: { security = [] } }: Operation): boolean => security.length > 0
