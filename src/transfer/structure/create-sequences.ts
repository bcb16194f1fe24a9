import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import type { IdentityLine, SequenceLine } from './lines.ts'

type Options = Pick<SequenceLine, 'start' | 'increment' | 'min' | 'max' | 'cache' | 'cycle'>

/** The statement that makes a sequence; its owner and its position are set later. */
export function createSequence(sequence: SequenceLine): string {
  const { name, type, unlogged } = sequence
  const kind = unlogged ? 'UNLOGGED SEQUENCE' : 'SEQUENCE'
  return `CREATE ${kind} ${quoteIdentifier(name)} AS ${type} ${sequenceOptions(sequence)}`
}

/** As `CREATE SEQUENCE` and `GENERATED ... AS IDENTITY` take them. */
export function sequenceOptions({ start, increment, min, max, cache, cycle }: Options): string {
  const limits = `MINVALUE ${min} MAXVALUE ${max} START WITH ${start}`
  return `INCREMENT BY ${increment} ${limits} CACHE ${cache} ${cycle ? 'CYCLE' : 'NO CYCLE'}`
}

/** Sets a sequence's position, its owner and its comment. */
export function positionSequence(sequence: SequenceLine | IdentityLine['sequence']): string[] {
  const name = quoteIdentifier(sequence.name)
  const { ownedBy, comment } = { ownedBy: undefined, comment: undefined, ...sequence }
  return [
    // setval() is not undone by a rollback, but the sequence is: it is new in this transaction.
    `SELECT pg_catalog.setval(${quoteLiteral(name)}, ${sequence.value}, ${sequence.called})`,
    ...(ownedBy
      ? [`ALTER SEQUENCE ${name} OWNED BY ${quoteIdentifier(ownedBy.table)}.${quoteIdentifier(ownedBy.column)}`]
      : []),
    ...(comment === undefined ? [] : [`COMMENT ON SEQUENCE ${name} IS ${quoteLiteral(comment)}`]),
  ]
}
