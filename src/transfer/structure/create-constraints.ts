import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import type { TableLine } from './lines.ts'

/** Keys and indexes of all tables, then checks, then foreign keys, which need the keys of any table; with comments. */
export function constraintStatements(tables: readonly TableLine[]): string[] {
  return [
    ...tables.flatMap((table) => [
      ...addConstraints(table, table.primaryKey ? [table.primaryKey] : []),
      ...addConstraints(table, table.unique),
      ...addConstraints(table, table.exclusions),
      ...createIndexes(table),
      ...addConstraints(table, table.checks),
    ]),
    ...tables.flatMap((table) => addConstraints(table, table.foreignKeys)),
    ...tables.flatMap(replicaIdentity),
  ]
}

type Definitions = TableLine['indexes']

function addConstraints(table: TableLine, constraints: Definitions = []): string[] {
  const tableName = quoteIdentifier(table.name)
  return constraints.flatMap(({ name, definition, comment }) => [
    `ALTER TABLE ${tableName} ADD CONSTRAINT ${quoteIdentifier(name)} ${definition}`,
    ...(comment === undefined
      ? []
      : [`COMMENT ON CONSTRAINT ${quoteIdentifier(name)} ON ${tableName} IS ${quoteLiteral(comment)}`]),
  ])
}

function createIndexes({ indexes = [] }: TableLine): string[] {
  return indexes.flatMap(({ name, definition, comment }) => [
    definition,
    ...(comment === undefined ? [] : [`COMMENT ON INDEX ${quoteIdentifier(name)} IS ${quoteLiteral(comment)}`]),
  ])
}

function replicaIdentity({ name, replicaIdentity: identity }: TableLine): string[] {
  if (identity === undefined) return []
  const how = typeof identity === 'string' ? identity.toUpperCase() : `USING INDEX ${quoteIdentifier(identity.index)}`
  return [`ALTER TABLE ${quoteIdentifier(name)} REPLICA IDENTITY ${how}`]
}
