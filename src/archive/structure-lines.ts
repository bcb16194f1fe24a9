import { z } from 'zod'
import { comment, flag, identifier, integerText, optional, slug, sqlText } from './fields.ts'

/** Something of the stage that structure lines cannot describe; it is named rather than dropped in silence. */
const notExported = z.object({ kind: z.string().min(1), name: z.string().min(1), detail: optional(z.string()) })

export const stage = z.object({ slug, notExported: z.array(notExported).default([]), comment })

const check = z.object({ name: identifier, definition: sqlText })

export const enumType = z.object({ name: identifier, values: z.array(z.string()), comment })

export const domain = z.object({
  name: identifier,
  type: sqlText,
  nullable: flag,
  default: optional(sqlText),
  collation: optional(sqlText),
  checks: z.array(check).default([]),
  comment,
})

export const composite = z.object({
  name: identifier,
  attributes: z.array(z.object({ name: identifier, type: sqlText, collation: optional(sqlText) })),
  comment,
})

export const range = z.object({
  name: identifier,
  subtype: sqlText,
  operatorClass: optional(sqlText),
  collation: optional(sqlText),
  /** The function that measures the distance between two bounds. */
  difference: optional(sqlText),
  /** The name of its multirange type. */
  multirange: optional(identifier),
  comment,
})

/** `value` and `called` are the sequence's present position, as `last_value` and `is_called`. */
const sequenceState = {
  start: integerText,
  increment: integerText,
  min: integerText,
  max: integerText,
  cache: integerText,
  cycle: flag,
  value: integerText,
  called: flag,
}

export const sequence = z.object({
  name: identifier,
  type: sqlText,
  ...sequenceState,
  ownedBy: optional(z.object({ table: identifier, column: identifier })),
  unlogged: optional(flag),
  comment,
})

const column = z.object({
  name: identifier,
  /** As `format_type` prints it. */
  type: sqlText,
  nullable: flag,
  default: optional(sqlText),
  /** The expression of a generated column, which carries no values. */
  generated: optional(sqlText),
  generatedKind: optional(z.enum(['stored', 'virtual'])),
  identity: optional(
    z.object({
      generation: z.enum(['always', 'by default']),
      sequence: z.object({ name: identifier, ...sequenceState }),
    }),
  ),
  collation: optional(sqlText),
  storage: optional(sqlText),
  compression: optional(sqlText),
  /** How much ANALYZE looks at, where not the default. */
  statistics: optional(z.int()),
  comment,
})

/** `definition` as `pg_get_constraintdef` or `pg_get_indexdef` prints it, names of the stage itself unqualified. */
const definition = { name: identifier, definition: sqlText, comment }

const definitions = z.array(z.object(definition)).default([])

export const table = z.object({
  name: identifier,
  columns: z.array(column),
  primaryKey: optional(z.object(definition)),
  unique: definitions,
  checks: definitions,
  foreignKeys: z.array(z.object({ ...definition, references: identifier })).default([]),
  exclusions: definitions,
  indexes: definitions,
  unlogged: optional(flag),
  /** Storage parameters, each as `name=value`. */
  options: optional(z.array(z.string())),
  /** What names an old row in logical replication, where that is not the primary key. */
  replicaIdentity: optional(z.union([z.enum(['nothing', 'full']), z.object({ index: identifier })])),
  comment,
})
