import { z } from 'zod'
import { comment, findableName, flag, identifier, list, optional, quotedText, sqlText, texts } from './fields.ts'
import { namedRole } from './grant-lines.ts'
import { columnStorage } from './structure-lines.ts'

/** The kinds of lines that hold an object beside types, sequences and tables: each one statement, and what goes with it. */

export const collation = z.object({ name: identifier, definition: sqlText, comment })

export const textSearchDictionary = z.object({ name: identifier, definition: sqlText, comment })

export const textSearchConfiguration = z.object({
  name: identifier,
  parser: findableName,
  /** Which dictionaries are asked about a kind of word, one after the other. */
  mappings: list(z.object({ token: identifier, dictionaries: list(findableName) })),
  comment,
})

/** Functions, procedures, window functions and aggregates. */
export const functionLine = z.object({
  name: identifier,
  /** The types of its arguments, as `pg_get_function_identity_arguments` prints them. */
  arguments: z.string().register(texts, { holds: 'SQL' }),
  kind: z.enum(['function', 'procedure', 'window', 'aggregate']),
  /** `CREATE FUNCTION`, `CREATE PROCEDURE` or `CREATE AGGREGATE`. */
  definition: sqlText,
  /** The schemas of its `SET search_path`, where the stage's own is among them: that is written as `$stage`. */
  searchPath: optional(list(quotedText)),
  comment,
})

/** PostgreSQL's characters for operators. */
const operatorName = identifier.regex(/^[-+*/<>=~!@#%^&|`?]+$/, { error: 'must be the name of an operator' })

export const operator = z.object({
  name: operatorName,
  /** The types of its operands; a prefix operator has no left one. */
  left: optional(sqlText),
  right: sqlText,
  /** `CREATE OPERATOR`. */
  definition: sqlText,
  comment,
})

export const cast = z.object({
  /** For people: its types. */
  name: quotedText,
  source: sqlText,
  target: sqlText,
  /** `CREATE CAST`. */
  definition: sqlText,
  comment,
})

const viewColumn = { name: identifier, comment }

/** Storage parameters, each as `name=value`. */
const options = optional(list(quotedText))

export const view = z.object({
  name: identifier,
  /** With their types where the view is made in two steps, since something that it calls needs its columns. */
  columns: list(
    z.object({
      ...viewColumn,
      default: optional(sqlText),
      type: optional(sqlText),
      collation: optional(findableName),
    }),
  ),
  /** The query. */
  definition: sqlText,
  options,
  checkOption: optional(z.enum(['local', 'cascaded'])),
  comment,
})

export const materializedView = z.object({
  name: identifier,
  columns: list(z.object({ ...viewColumn, ...columnStorage })),
  definition: sqlText,
  options,
  /** Each a `CREATE INDEX`. */
  indexes: list(z.object({ name: identifier, definition: sqlText, comment })).default([]),
  /** The index by which it was clustered last. */
  clusterOn: optional(identifier),
  /** Whether it had rows: then it is filled again. */
  populated: flag,
  comment,
})

/** When something acts: in ordinary sessions, never, where changes are applied that were replicated, or in both. */
const enabled = z.enum(['origin', 'disabled', 'replica', 'always'])

const ofTable = { name: identifier, table: identifier, definition: sqlText, comment }

export const trigger = z.object({
  ...ofTable,
  enabled,
  /** Of a trigger of a partitioned table, the partitions for which it acts at other times. */
  partitions: optional(list(z.object({ table: identifier, enabled }))),
})
export const rule = z.object({ ...ofTable, enabled })
/** A policy is for everybody, or for some roles. */
export const policy = z
  .object({ ...ofTable, roles: optional(list(namedRole)) })
  .refine(({ roles }) => roles?.length !== 0, { path: ['roles'], error: 'must have one at least' })
export const statistics = z.object({ ...ofTable, target: optional(z.int()) })
