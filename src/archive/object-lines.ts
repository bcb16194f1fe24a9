import { z } from 'zod'
import { comment, flag, identifier, list, optional, quotedText, sqlText } from './fields.ts'

/** The kinds of lines that hold an object beside types, sequences and tables: each one statement, and what goes with it. */

/** Functions, procedures, window functions and aggregates. */
export const functionLine = z.object({
  name: identifier,
  /** The types of its arguments, as `pg_get_function_identity_arguments` prints them. */
  arguments: quotedText,
  kind: z.enum(['function', 'procedure', 'window', 'aggregate']),
  /** `CREATE FUNCTION`, `CREATE PROCEDURE` or `CREATE AGGREGATE`. */
  definition: sqlText,
  comment,
})

const viewColumns = list(z.object({ name: identifier, default: optional(sqlText), comment }))

/** Storage parameters, each as `name=value`. */
const options = optional(list(quotedText))

export const view = z.object({
  name: identifier,
  columns: viewColumns,
  /** The query. */
  definition: sqlText,
  options,
  checkOption: optional(z.enum(['local', 'cascaded'])),
  comment,
})

export const materializedView = z.object({
  name: identifier,
  columns: viewColumns,
  definition: sqlText,
  options,
  /** Each a `CREATE INDEX`. */
  indexes: list(z.object({ name: identifier, definition: sqlText, comment })).default([]),
  /** Whether it had rows: then it is filled again. */
  populated: flag,
  comment,
})

/** When something acts: in ordinary sessions, never, where changes are applied that were replicated, or in both. */
const enabled = z.enum(['origin', 'disabled', 'replica', 'always'])

const ofTable = { name: identifier, table: identifier, definition: sqlText, comment }

export const trigger = z.object({ ...ofTable, enabled })
export const rule = z.object({ ...ofTable, enabled })
export const policy = z.object(ofTable)
export const statistics = z.object({ ...ofTable, target: optional(z.int()) })
