import type { z } from 'zod'
import type { Fault } from '../errors.ts'

type Issue = z.core.$ZodIssue
type RawIssue = z.core.$ZodRawIssue

/** Zod's words for something that is not there are about types; ours are about the field. */
const nameMissing = (issue: RawIssue): string | undefined =>
  issue.code === 'invalid_type' && issue.input === undefined ? 'is missing' : undefined

/** A location in a value and what is wrong there; never the value itself. */
export interface FieldFault {
  readonly path: readonly PropertyKey[]
  readonly detail: string
}

export type Checked<S extends z.ZodType> = { readonly value: z.output<S> } | { readonly faults: readonly FieldFault[] }

/** Checks a value against a schema, and finds all that is wrong with it at once. */
export function check<S extends z.ZodType>(schema: S, value: unknown): Checked<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { value: parsed.data }
  // Our words are looked for in a second run, since asking for them makes zod ten times slower.
  const explained = schema.safeParse(value, { error: nameMissing }).error ?? parsed.error
  return { faults: explained.issues.flatMap((issue) => toFieldFaults(issue)) }
}

function toFieldFaults(issue: Issue, prefix: readonly PropertyKey[] = []): FieldFault[] {
  const path = [...prefix, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key], detail: 'is not a known field' }))
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // The alternative with the fewest faults is most likely the one that was meant.
    const [nearest = []] = issue.errors.toSorted((a, b) => a.length - b.length)
    return nearest.flatMap((inner) => toFieldFaults(inner, path))
  }
  return [{ path, detail: issue.message.charAt(0).toLowerCase() + issue.message.slice(1) }]
}

/** @returns the fault as a fault of a JSON body, its location an RFC 6901 pointer. */
export const toBodyFault = ({ path, detail }: FieldFault): Fault => ({
  pointer: path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  detail,
})

/** @param part where in the request, e.g. `query parameter`. */
export const toParameterFault = (part: string, { path, detail }: FieldFault): Fault => ({
  detail: `${part} "${path.map(String).join('.')}" ${detail}`,
})
