import type { StructureLines } from '../create-statements.ts'
import { isObjectLine } from '../lines.ts'
import { type GrantedObject, keyOf } from './grants.ts'

/** Whether an object that rights are on is among those that lines describe. The schema itself always is. */
export function describedBy(lines: StructureLines): (object: GrantedObject) => boolean {
  const known = new Set([...lines.tables.flatMap(ofTable), ...ofOthers(lines)].map(keyOf))
  return (object) => object.name === undefined || known.has(keyOf(object))
}

const relation = (name: string, columns: readonly { readonly name: string }[]): readonly GrantedObject[] => [
  { object: 'table', name },
  // Its row type.
  { object: 'type', name },
  ...columns.map((column): GrantedObject => ({ object: 'table', name, column: column.name })),
]

const ofTable = ({ name, columns }: StructureLines['tables'][number]): readonly GrantedObject[] => [
  ...relation(name, columns),
  ...columns.flatMap(({ identity }): GrantedObject[] =>
    identity ? [{ object: 'sequence', name: identity.sequence.name }] : [],
  ),
]

const ofOthers = ({ beforeTables, sequences, afterTables }: StructureLines): readonly GrantedObject[] => [
  ...sequences.map(({ name }): GrantedObject => ({ object: 'sequence', name })),
  ...[...beforeTables, ...afterTables].flatMap((line): readonly GrantedObject[] => {
    if (!isObjectLine(line)) return [{ object: 'type', name: line.content.name }]
    if (line.kind === 'function')
      return [{ object: 'function', name: line.content.name, arguments: line.content.arguments }]
    if (line.kind === 'view' || line.kind === 'materializedView')
      return relation(line.content.name, line.content.columns)
    return []
  }),
]
