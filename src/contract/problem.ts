import { z } from 'zod'

/** One thing that is wrong. */
export const faultSchema = z.object({
  pointer: z
    .string()
    .exactOptional()
    .meta({ description: 'The field of the JSON body at fault, as an RFC 6901 pointer.' }),
  line: z.int().min(1).exactOptional().meta({ description: 'The line of the file or of the SQL at fault, from 1.' }),
  detail: z.string(),
})

/** What PostgREST's client libraries read from an error; only calls that speak its dialect have them. */
const postgrestMembers = {
  message: z
    .string()
    .optional()
    .meta({ description: 'The same as `detail`, in the words of PostgREST where it has some.' }),
  code: z.string().optional().meta({ description: 'SQLSTATE, a code of PostgREST, or our own, for the same.' }),
  details: z
    .union([z.string(), z.array(z.record(z.string(), z.string())).readonly()])
    .nullable()
    .optional(),
  hint: z.string().nullable().optional(),
}

export const problemSchema = z
  .object({
    type: z.string().meta({ description: 'What went wrong, for programs.', examples: ['urn:wharf:error:not-found'] }),
    title: z.string().meta({ description: 'The same for people.' }),
    status: z.int(),
    detail: z.string().meta({ description: 'What went wrong this time, and what to do.' }),
    instance: z.string().meta({ description: 'The request, as `urn:wharf:request:` and its `X-Request-Id`.' }),
    errors: z.array(faultSchema).optional().meta({ description: 'Each thing at fault, where there can be several.' }),
    ...postgrestMembers,
  })
  .meta({ id: 'Problem', description: 'An error, as an RFC 9457 problem document.' })

/** Whether a server refuses a field of the body, as one of an earlier version does that doesn't know it. */
export const refusesField = (faults: readonly { readonly pointer?: string }[], field: string): boolean =>
  faults.some(({ pointer }) => pointer === `/${field}`)

/** The `type` of a problem where rows are missing. */
export const INCOMPLETE_TYPE = 'urn:wharf:error:incomplete'

export type Problem = z.output<typeof problemSchema>
