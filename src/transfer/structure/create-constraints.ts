import { archiveFault } from '../../archive/archive-invalid.ts'
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

/** Constraints of one table, with their comments. */
export function addConstraints(table: TableLine, constraints: Definitions = []): string[] {
  const tableName = quoteIdentifier(table.name)
  return constraints.flatMap(({ name, definition, comment }) => [
    `ALTER TABLE ${tableName} ADD CONSTRAINT ${quoteIdentifier(name)} ${definition}`,
    ...(comment === undefined
      ? []
      : [`COMMENT ON CONSTRAINT ${quoteIdentifier(name)} ON ${tableName} IS ${quoteLiteral(comment)}`]),
  ])
}

/**
 * The one kind of definition that is a whole statement.
 *
 * @throws {AppError} ARCHIVE_INVALID where it is another statement than that which makes this index on this table.
 */
function createIndexes({ name: table, indexes = [] }: TableLine): string[] {
  return indexes.flatMap(({ name, definition, comment }) => [
    assertIndex(definition, name, table),
    ...(comment === undefined ? [] : [`COMMENT ON INDEX ${quoteIdentifier(name)} IS ${quoteLiteral(comment)}`]),
  ])
}

function assertIndex(definition: string, name: string, table: string): string {
  const [, head = ''] = /^CREATE (?:UNIQUE )?INDEX (.*)$/s.exec(definition) ?? []
  const isThisOne = spellings(name).some((index) =>
    spellings(table).some((on) => head.startsWith(`${index} ON ${on} USING `)),
  )
  if (isThisOne) return definition
  throw archiveFault(`the definition of index "${name}" is not one of this index on table "${table}"`)
}

/** A name as PostgreSQL prints it: quoted where it has to be. */
const spellings = (name: string): readonly string[] =>
  /^[a-z_][a-z0-9_$]*$/.test(name) ? [name, quoteIdentifier(name)] : [quoteIdentifier(name)]

function replicaIdentity({ name, replicaIdentity: identity }: TableLine): string[] {
  if (identity === undefined) return []
  const how = typeof identity === 'string' ? identity.toUpperCase() : `USING INDEX ${quoteIdentifier(identity.index)}`
  return [`ALTER TABLE ${quoteIdentifier(name)} REPLICA IDENTITY ${how}`]
}
