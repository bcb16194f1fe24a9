import { z } from 'zod'
import { SEARCHED_SCHEMAS } from '../contract/extensions-schema.ts'
import {
  comment,
  findableName,
  flag,
  identifier,
  integerText,
  list,
  optional,
  quotedText,
  slug,
  sqlText,
  texts,
} from './fields.ts'

/** A text that is shown, and goes nowhere else. */
const shownText = z.string().min(1).register(texts, { holds: 'value' })

/** Something of the stage that structure lines cannot describe; it is named rather than dropped silently. */
const notExported = z.object({
  kind: shownText,
  name: shownText,
  detail: optional(quotedText),
  /** Whether rows are missing for lack of it. Earlier versions say it of nothing. */
  rows: optional(flag),
})

/** `complete` says that nothing is missing. Earlier versions did not look for everything, and say nothing. */
export const stage = z
  .object({
    slug,
    notExported: list(notExported).default([]),
    complete: optional(flag),
    /** Whether its lines have all rights on it: those that its target has are replaced then. */
    grants: optional(flag),
    /** The schema that it was, in a database of its own: texts may name it. */
    sourceSchema: optional(identifier),
    comment,
  })
  .refine(({ complete, notExported: things }) => complete === undefined || complete === (things.length === 0), {
    path: ['complete'],
    error: 'must be true where notExported has nothing, and false where it has something',
  })

/** What has to be there before the stage can be made, with what it needs itself before it. Its members have no lines. */
export const extension = z.object({
  name: identifier,
  /** Another one may be there: it is for people. */
  version: shownText,
  schema: z.enum(SEARCHED_SCHEMAS),
  /** Where it was, if not there. */
  sourceSchema: optional(identifier),
})

const check = z.object({ name: identifier, definition: sqlText, comment })

/**
 * What is made in two steps, since it and something else need each other, gets its second one where this line stands: a
 * view its query, a domain its default and checks, a table what generates some of its columns.
 */
export const secondStep = z
  .object({
    object: z.enum(['view', 'domain', 'table']),
    name: identifier,
    /** Of a table, the generated columns. */
    columns: optional(list(identifier)),
  })
  .refine(({ object, columns = [] }) => (object === 'table') === columns.length > 0, {
    path: ['columns'],
    error: 'must name columns of a table, and of nothing else',
  })

export const enumType = z.object({ name: identifier, values: list(quotedText), comment })

export const domain = z.object({
  name: identifier,
  type: sqlText,
  nullable: flag,
  /** The name of its not-null constraint, where that is not `<name>_not_null`: PostgreSQL 17 and later have one. */
  notNull: optional(identifier),
  default: optional(sqlText),
  collation: optional(findableName),
  checks: list(check).default([]),
  comment,
})

export const composite = z.object({
  name: identifier,
  attributes: list(z.object({ name: identifier, type: sqlText, collation: optional(findableName), comment })),
  comment,
})

export const range = z.object({
  name: identifier,
  subtype: sqlText,
  operatorClass: optional(findableName),
  collation: optional(findableName),
  /** The function that measures the distance between two bounds. */
  difference: optional(findableName),
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
  type: z.enum(['smallint', 'integer', 'bigint']),
  ...sequenceState,
  ownedBy: optional(z.object({ table: identifier, column: identifier })),
  unlogged: optional(flag),
  comment,
})

/** How the values of a column are kept, where that is not as by default. */
export const columnStorage = {
  storage: optional(z.enum(['plain', 'external', 'extended', 'main'])),
  compression: optional(z.enum(['pglz', 'lz4'])),
  /** How much ANALYZE looks at. */
  statistics: optional(z.int()),
  /** Options for ANALYZE, each as `name=value`. */
  options: optional(list(quotedText)),
}

/** A column of a table. */
export const column = z.object({
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
      /** `unlogged` where it is not as its table is. */
      sequence: z.object({ name: identifier, ...sequenceState, unlogged: optional(flag), comment }),
    }),
  ),
  collation: optional(findableName),
  ...columnStorage,
  /** Of its not-null constraint in PostgreSQL 18 and later, what is not as NOT NULL in `CREATE TABLE` has it. */
  notNull: optional(
    z.object({
      name: optional(identifier),
      /** Whether the table has it only from the one that it inherits from. */
      inherited: optional(flag),
      noInherit: optional(flag),
      /** The rows that there were have not been checked: there may be NULLs. */
      notValid: optional(flag),
    }),
  ),
  /** Whether it is there only because a table has it from which this one inherits. */
  inherited: optional(flag),
  comment,
})

/** `definition` as `pg_get_constraintdef` or `pg_get_indexdef` prints it, names of the stage itself unqualified. */
const definition = { name: identifier, definition: sqlText, comment }

const definitions = list(z.object(definition)).default([])

/** A key or an index of a partition can be part of one of the partitioned table's, whose name this is. */
const indexDefinition = z.object({
  ...definition,
  partitionOf: optional(identifier),
  /** The comment on the index behind a constraint. */
  indexComment: comment,
})

const indexDefinitions = list(indexDefinition).default([])

export const table = z.object({
  name: identifier,
  columns: list(column),
  primaryKey: optional(indexDefinition),
  unique: indexDefinitions,
  checks: definitions,
  foreignKeys: list(z.object({ ...definition, references: identifier })).default([]),
  exclusions: indexDefinitions,
  indexes: indexDefinitions,
  /** The partition key of a partitioned table, as `pg_get_partkeydef` prints it. */
  partitionBy: optional(sqlText),
  /** The partitioned table that it is a partition of, and for which rows: as `pg_get_expr` prints `relpartbound`. */
  partitionOf: optional(z.object({ table: identifier, bound: sqlText })),
  /** The tables that it inherits from, in their order. */
  inherits: optional(list(identifier)),
  /** The composite type that it is a table of. */
  of: optional(identifier),
  /** The index by which it was clustered last. */
  clusterOn: optional(identifier),
  rowSecurity: optional(z.object({ enabled: flag, forced: flag })),
  unlogged: optional(flag),
  /** Storage parameters, each as `name=value`. */
  options: optional(list(quotedText)),
  /** What names an old row in logical replication, where that is not the primary key. */
  replicaIdentity: optional(z.union([z.enum(['nothing', 'full']), z.object({ index: identifier })])),
  comment,
})
