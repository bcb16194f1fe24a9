import { quoteIdentifier } from '../../database/quoting.ts'
import { sinceVersion } from './by-version.ts'
import type { ColumnLine, TableLine } from './lines.ts'
import { jsonObject } from './query.ts'

/** NOT NULL of a column, as `CREATE TABLE` takes it; empty where it has none of its own. */
export function notNullClause({ nullable, notNull: { name, inherited, noInherit } = {} }: ColumnLine): string {
  if (nullable || inherited) return ''
  return `${name === undefined ? '' : ` CONSTRAINT ${quoteIdentifier(name)}`} NOT NULL${noInherit ? ' NO INHERIT' : ''}`
}

/**
 * A table whose NOT NULL constraints leave the names of its other constraints free. Versions before 18 have no names for
 * them, so there a check may have the one that PostgreSQL would choose.
 */
export function withFreeNotNullNames(table: TableLine): TableLine {
  const { name, columns, primaryKey, unique = [], checks = [], exclusions = [], foreignKeys = [] } = table
  const others = [...(primaryKey ? [primaryKey] : []), ...unique, ...checks, ...exclusions, ...foreignKeys]
  const taken = new Set([...others.map((constraint) => constraint.name), ...columns.map((c) => c.notNull?.name)])
  return {
    ...table,
    columns: columns.map((column, index) => {
      if (column.notNull?.name !== undefined || !taken.has(`${name}_${column.name}_not_null`)) return column
      let free = `not_null_${index + 1}`
      while (taken.has(free)) free += '_'
      return { ...column, notNull: { ...column.notNull, name: free } }
    }),
  }
}

/** NOT NULL constraints that rows need not fulfil which are there before them. */
export const uncheckedNotNulls = ({ name: table, columns }: TableLine): string[] =>
  columns.flatMap(({ name, notNull: { name: constraint, inherited, notValid, noInherit } = {} }) =>
    constraint === undefined || inherited || !notValid
      ? []
      : [
          `ALTER TABLE ${quoteIdentifier(table)} ADD CONSTRAINT ${quoteIdentifier(constraint)} ` +
            `NOT NULL ${quoteIdentifier(name)}${noInherit ? ' NO INHERIT' : ''} NOT VALID`,
        ],
  )

/**
 * The rows of a child fulfil NOT NULL where those of its parent need not: it inherits the constraint NOT VALID, and was
 * validated by itself.
 *
 * @param tables parents before their children.
 */
export function validatedNotNulls(tables: readonly TableLine[]): string[] {
  /** By table and column, the name of the constraint that it has, or inherits, where that is NOT VALID. */
  const unchecked = new Map<string, ReadonlyMap<string, string>>()
  return tables.flatMap(({ name: table, columns, inherits = [] }) => {
    const inheritedName = (column: string): string | undefined =>
      inherits.map((parent) => unchecked.get(parent)?.get(column)).find((name) => name !== undefined)
    unchecked.set(
      table,
      new Map(
        columns.flatMap(({ name: column, notNull: { name, notValid } = {} }) => {
          const constraint = notValid ? (name ?? inheritedName(column)) : undefined
          return constraint === undefined ? [] : [[column, constraint] as const]
        }),
      ),
    )
    return columns.flatMap(({ name: column, nullable, notNull: { inherited } = {} }) => {
      if (nullable || !inherited) return []
      const constraint = inheritedName(column)
      const child = quoteIdentifier(table)
      return constraint === undefined ? [] : [`ALTER TABLE ${child} VALIDATE CONSTRAINT ${quoteIdentifier(constraint)}`]
    })
  })
}

/**
 * NOT NULL of columns that a table inherits without.
 *
 * @param parents the tables that it inherits from.
 */
export function inheritedNotNulls({ name, columns }: TableLine, parents: readonly TableLine[]): string[] {
  const hasFromParent = (column: ColumnLine): boolean =>
    parents.some((parent) =>
      parent.columns.some((other) => other.name === column.name && !other.nullable && !other.notNull?.noInherit),
    )
  return (
    columns
      .filter(({ inherited, nullable, notNull: constraint }) => inherited && !nullable && !constraint?.inherited)
      .filter((column) => column.notNull !== undefined || !hasFromParent(column))
      // Tables that inherit from this one get it, too.
      .map((column) => setNotNull(name, column))
  )
}

/** By its name, where it has one of its own: PostgreSQL takes that since version 18. */
function setNotNull(table: string, { name, notNull: { name: constraint, noInherit } = {} }: ColumnLine): string {
  const alter = `ALTER TABLE ${quoteIdentifier(table)}`
  const set = `${alter} ALTER COLUMN ${quoteIdentifier(name)} SET NOT NULL`
  if (constraint === undefined && !noInherit) return set
  const named = constraint === undefined ? 'ADD' : `ADD CONSTRAINT ${quoteIdentifier(constraint)}`
  const add = `${alter} ${named} NOT NULL ${quoteIdentifier(name)}${noInherit ? ' NO INHERIT' : ''}`
  return sinceVersion(18, add, set)
}

/**
 * The `pg_constraint` row `not_null` of a column `a` of a table `c`. A partition has the constraints of its partitioned table under
 * its own names; other children have the parents' names.
 */
export const NOT_NULL_SQL = jsonObject({
  name: `CASE WHEN (not_null.conislocal OR c.relispartition)
               AND (not_null.conname <> c.relname::text || '_' || a.attname::text || '_not_null' OR NOT not_null.convalidated)
              THEN not_null.conname END`,
  inherited: 'CASE WHEN NOT (not_null.conislocal OR c.relispartition) THEN true END',
  noInherit: 'CASE WHEN not_null.connoinherit THEN true END',
  notValid: 'CASE WHEN NOT not_null.convalidated THEN true END',
})
