import { z } from 'zod'
import type { ZodOpenApiOverrideMetaContext } from 'zod-openapi'

interface Range {
  readonly min: number
  readonly max: number
}

const wholeNumber = ({ min, max }: Range) =>
  z
    .string()
    .refine((text) => /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number)

/** A whole number in a query: `?limit=20`. */
export function queryInteger(options: Range & { readonly default: number }) {
  const { min, max } = options
  return wholeNumber(options)
    .default(options.default)
    .meta({ override: { type: 'integer', minimum: min, maximum: max, default: options.default } })
}

/** The same where nothing is said without it. */
export const optionalInteger = ({ min, max }: Range) =>
  wholeNumber({ min, max })
    .optional()
    .meta({ override: { type: 'integer', minimum: min, maximum: max } })

/** A switch in a query: `?force=true`; missing means false. */
export const queryFlag = () =>
  z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .transform((text) => text === 'true')
    .default(false)
    .meta({
      override: ({ jsonSchema }: ZodOpenApiOverrideMetaContext) => {
        delete jsonSchema.enum
        jsonSchema.type = 'boolean'
        jsonSchema.default = false
      },
    })

/**
 * A request's query as an object: a name that comes once is a string, one that comes more often an array of them.
 */
export function toQueryObject(search: URLSearchParams): Record<string, string | string[]> {
  const values = new Map<string, string | string[]>()
  for (const [name, value] of search) {
    const before = values.get(name)
    values.set(name, before === undefined ? value : [before, value].flat())
  }
  return Object.fromEntries(values)
}
