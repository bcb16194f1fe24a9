import type { StructureLines } from '../create-statements.ts'
import { objectsIn, type TableLine, tablesIn, typesIn } from '../lines.ts'
import { type GrantedObject, keyOf } from './grants.ts'

/** Whether an object that rights are on is among those that lines describe. The schema itself always is. */
export function describedBy(lines: StructureLines): (object: GrantedObject) => boolean {
  const known = new Set([...tablesIn(lines).flatMap(ofTable), ...ofOthers(lines)].map(keyOf))
  return (object) => object.name === undefined || known.has(keyOf(object))
}

const relation = (name: string, columns: readonly { readonly name: string }[]): readonly GrantedObject[] => [
  { object: 'table', name },
  // Its row type.
  { object: 'type', name },
  ...columns.map((column): GrantedObject => ({ object: 'table', name, column: column.name })),
]

const ofTable = ({ name, columns }: TableLine): readonly GrantedObject[] => [
  ...relation(name, columns),
  ...columns.flatMap(({ identity }): GrantedObject[] =>
    identity ? [{ object: 'sequence', name: identity.sequence.name }] : [],
  ),
]

const ofOthers = (lines: StructureLines): readonly GrantedObject[] => [
  ...lines.sequences.map(({ name }): GrantedObject => ({ object: 'sequence', name })),
  ...typesIn(lines).map(({ content }): GrantedObject => ({ object: 'type', name: content.name })),
  ...objectsIn(lines).flatMap((line): readonly GrantedObject[] => {
    if (line.kind === 'function')
      return [{ object: 'function', name: line.content.name, arguments: line.content.arguments }]
    if (line.kind === 'view' || line.kind === 'materializedView')
      return relation(line.content.name, line.content.columns)
    return []
  }),
]
