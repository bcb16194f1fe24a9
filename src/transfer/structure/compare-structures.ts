import type { StructureLines } from './create-statements.ts'
import { type Facts, objectsIn, tablesIn, typesIn } from './lines.ts'
import { objectName } from './objects/objects.ts'
import { sequenceFacts } from './sequences.ts'
import { ownFacts, tableFacts } from './tables.ts'
import { typeFacts } from './types.ts'

/** What is compared, by what it is called for people, e.g. `column "name" of table "artist"`. */
type Things = ReadonlyMap<string, Facts>

/**
 * Every difference between an archive's structure and its target's, in words.
 *
 * What does not decide about which rows fit is not compared: comments, storage parameters, the order of columns, where
 * sequences stand, and functions, views, triggers and the like, which stay as the target has them.
 *
 * @returns an empty list where the archive's rows fit into the target.
 */
export function compareStructures(archive: StructureLines, target: StructureLines): readonly string[] {
  const inTarget = factsOf(target)
  const changed = [...factsOf(archive)].flatMap(([thing, facts]) => {
    const others = inTarget.get(thing)
    return others ? differences(thing, facts, others) : []
  })
  return [
    ...missingThings(archive, target).map((thing) => `${thing} is in the archive, but not in the target`),
    ...missingThings(target, archive).map((thing) => `${thing} is in the target, but not in the archive`),
    ...changed,
  ]
}

/** The things of one structure that another has not, as they are called for people. */
export function missingThings(from: StructureLines, other: StructureLines): readonly string[] {
  const [here, there] = [factsOf(from), factsOf(other)]
  return [...here.keys()].filter((thing) => !there.has(thing) && !isInside(thing, here, there))
}

/** The functions, views, triggers and the like of one structure that another has not, as they are called for people. */
export function missingObjects(from: StructureLines, other: StructureLines): readonly string[] {
  const there = new Set(objectsOf(other))
  return objectsOf(from).filter((object) => !there.has(object))
}

const objectsOf = (lines: StructureLines): readonly string[] =>
  objectsIn(lines).map((line) => `${line.kind} "${objectName(line)}"`)

/** Whether a thing goes without saying, since the whole table that it belongs to is missing on the other side. */
function isInside(thing: string, here: Things, there: Things): boolean {
  const table = / of (table ".*")$/s.exec(thing)?.[1]
  return table !== undefined && here.has(table) && !there.has(table)
}

function differences(thing: string, facts: Facts, others: Facts): readonly string[] {
  return [...new Set([...Object.keys(facts), ...Object.keys(others)])]
    .filter((fact) => facts[fact] !== others[fact])
    .map(
      (fact) => `${thing}: ${fact} is ${facts[fact] ?? 'none'} in the archive, ${others[fact] ?? 'none'} in the target`,
    )
}

function factsOf(lines: StructureLines): Things {
  return new Map([
    ...typesIn(lines).map((type) => [`${type.kind} "${type.content.name}"`, typeFacts(type)] as const),
    ...lines.sequences.map((sequence) => [`sequence "${sequence.name}"`, sequenceFacts(sequence)] as const),
    ...tablesIn(lines).flatMap((table) => [
      [`table "${table.name}"`, ownFacts(table)] as const,
      ...tableFacts(table).map(([thing, facts]) => [`${thing} of table "${table.name}"`, facts] as const),
    ]),
  ])
}
