import { z } from 'zod'
import type { AnyRouteSpec } from './route.ts'

/**
 * Finds mistakes in the declarations of routes when the service starts, and not with the first request.
 *
 * @throws {Error} naming the first route that is wrong, and how.
 */
export function assertRoutes(routes: readonly AnyRouteSpec[]): void {
  const seen = new Set<string>()
  for (const route of routes) {
    for (const key of [route.operationId, `${route.method} ${route.path}`]) {
      if (seen.has(key)) throw new Error(`there are two routes ${key}`)
      seen.add(key)
    }
    assertParams(route)
    assertAccess(route)
    if (route.body?.kind === 'json') assertStrict(route.operationId, z.toJSONSchema(route.body.schema, INPUT))
  }
}

const INPUT = { io: 'input', unrepresentable: 'any' } as const

const paramNames = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

function assertParams({ operationId, path, params }: AnyRouteSpec): void {
  const inPath = paramNames(path).toSorted().join(', ')
  const declared = Object.keys(params?.shape ?? {})
    .toSorted()
    .join(', ')
  if (inPath !== declared)
    throw new Error(`${operationId} declares the parameters (${declared}), its path has (${inPath})`)
}

/** Checks that `access` fits the path. */
function assertAccess({ operationId, path, access }: AnyRouteSpec): void {
  if ('project' in access && !path.includes(`{${access.project}}`)) {
    throw new Error(`${operationId} is for those with a right in a project, and its path has no {${access.project}}`)
  }
}

/** An object that is not strict would drop a misspelt field silently. */
function assertStrict(operationId: string, schema: unknown, pointer = ''): void {
  if (typeof schema !== 'object' || schema === null) return
  if ('properties' in schema && !('additionalProperties' in schema)) {
    throw new Error(`the body of ${operationId} has an object that is not strict at "${pointer}"; use z.strictObject`)
  }
  for (const [key, value] of Object.entries(schema)) assertStrict(operationId, value, `${pointer}/${key}`)
}
