import { quoteIdentifier } from '../../database/quoting.ts'
import { sequenceOptions } from './create-sequences.ts'
import { collate } from './create-types.ts'
import type { ColumnLine, IdentityLine, TableLine } from './lines.ts'
import { storageParameters } from './storage-parameters.ts'

/** `CREATE TABLE` with columns alone: types, NOT NULL, identities and generated values. */
export function createTable({ name, columns, unlogged, options = [] }: TableLine): string {
  const kind = unlogged ? 'UNLOGGED TABLE' : 'TABLE'
  const parameters = options.length === 0 ? '' : ` WITH (${storageParameters(options)})`
  return `CREATE ${kind} ${quoteIdentifier(name)} (${columns.map(columnDefinition).join(', ')})${parameters}`
}

function columnDefinition(column: ColumnLine): string {
  const { name, type, nullable, generated, generatedKind = 'stored', identity } = column
  return [
    `${quoteIdentifier(name)} ${type}${collate(column)}`,
    nullable ? '' : ' NOT NULL',
    generated === undefined ? '' : ` GENERATED ALWAYS AS (${generated}) ${generatedKind.toUpperCase()}`,
    identity ? ` ${identityDefinition(identity)}` : '',
  ].join('')
}

function identityDefinition({ generation, sequence }: IdentityLine): string {
  const options = `SEQUENCE NAME ${quoteIdentifier(sequence.name)} ${sequenceOptions(sequence)}`
  return `GENERATED ${generation.toUpperCase()} AS IDENTITY (${options})`
}

/** What `CREATE TABLE` does not take in every version, or can't yet know: one `ALTER TABLE`, or none. */
export function describeColumns({ name, columns }: TableLine): string[] {
  const changes = columns.flatMap((column) => {
    const alter = `ALTER COLUMN ${quoteIdentifier(column.name)} SET`
    return [
      ...(column.default === undefined ? [] : [`${alter} DEFAULT ${column.default}`]),
      ...(column.storage === undefined ? [] : [`${alter} STORAGE ${column.storage}`]),
      ...(column.compression === undefined ? [] : [`${alter} COMPRESSION ${column.compression}`]),
      ...(column.statistics === undefined ? [] : [`${alter} STATISTICS ${column.statistics}`]),
    ]
  })
  return changes.length === 0 ? [] : [`ALTER TABLE ${quoteIdentifier(name)} ${changes.join(', ')}`]
}
