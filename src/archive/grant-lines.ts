import { z } from 'zod'
import { identifier, list, optional, quotedText } from './fields.ts'

/** What rights are on. */
const kind = z.enum([
  ...(['schema', 'table', 'sequence', 'function', 'type'] as const),
  ...(['new tables', 'new sequences', 'new functions', 'new types'] as const),
])

/** Those of which there are several, so that a name tells them apart. */
const NAMED: readonly z.infer<typeof kind>[] = ['table', 'sequence', 'function', 'type']

const OF_TABLES = ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN'] as const
const OF_SEQUENCES = ['USAGE', 'SELECT', 'UPDATE'] as const

/** What PostgreSQL lets be granted on each. */
const ALLOWED: Readonly<Record<z.infer<typeof kind>, readonly string[]>> = {
  schema: ['USAGE', 'CREATE'],
  table: OF_TABLES,
  sequence: OF_SEQUENCES,
  function: ['EXECUTE'],
  type: ['USAGE'],
  'new tables': OF_TABLES,
  'new sequences': OF_SEQUENCES,
  'new functions': ['EXECUTE'],
  'new types': ['USAGE'],
}

const COLUMN_PRIVILEGES: readonly string[] = ['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']

const privilege = z.enum([...OF_TABLES, ...(['USAGE', 'CREATE', 'EXECUTE'] as const)])

/** A role of the server, or one that has another name at the target: the project's own login, which owns everything. */
export const namedRole = z.union([z.enum(['owner']), z.object({ role: identifier })])

const grant = z.object({
  /** `public` is everybody. */
  to: z.union([z.enum(['public']), namedRole]),
  /** Those that cannot be passed on. */
  privileges: list(privilege).default([]),
  /** Those that can: WITH GRANT OPTION. */
  grantable: list(privilege).default([]),
})

/** All rights on an object that are not those which PostgreSQL gives by itself. */
export const grants = z
  .object({
    object: kind,
    /** None for the stage's schema, and for what will be made in it. */
    name: optional(identifier),
    /** The types of a function's arguments, as its line has them. */
    arguments: optional(quotedText),
    /** Of a table. */
    column: optional(identifier),
    grants: list(grant),
  })
  .refine(({ object, name }) => (name !== undefined) === NAMED.includes(object), {
    path: ['name'],
    error: 'must be there for a table, a sequence, a function or a type, and for nothing else',
  })
  .refine(({ object, arguments: types }) => (types !== undefined) === (object === 'function'), {
    path: ['arguments'],
    error: 'must be there for a function, and for nothing else',
  })
  .refine(({ object, column }) => column === undefined || object === 'table', {
    path: ['column'],
    error: 'must be one of a table',
  })
  .refine(
    ({ object, column, grants: given }) =>
      given.every((each) =>
        [...each.privileges, ...each.grantable].every(
          (one) => ALLOWED[object].includes(one) && (column === undefined || COLUMN_PRIVILEGES.includes(one)),
        ),
      ),
    { path: ['grants'], error: 'must have privileges that there are on such an object' },
  )
  .refine(({ grants: given }) => given.every(({ to, grantable }) => to !== 'public' || grantable.length === 0), {
    path: ['grants'],
    error: 'must let nothing be passed on by everybody',
  })
  .refine(({ object, grants: given }) => object !== 'schema' || given.every(({ to }) => to !== 'owner'), {
    path: ['grants'],
    error: 'must leave the owner of the schema its rights',
  })
