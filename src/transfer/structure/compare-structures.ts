import type { StructureLines } from './create-statements.ts'
import type { TableLine, TypeLine } from './lines.ts'

/** What is compared, by what it is called for people, e.g. `column "name" of table "artist"`. */
type Facts = ReadonlyMap<string, Readonly<Record<string, string>>>

/**
 * Every difference between an archive's structure and its target's, in words.
 *
 * What does not decide about which rows fit is not compared: comments, storage parameters, the order of columns, and
 * where sequences stand.
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

/** Whether a thing goes without saying, since the whole table that it belongs to is missing on the other side. */
function isInside(thing: string, here: Facts, there: Facts): boolean {
  const table = / of (table ".*")$/s.exec(thing)?.[1]
  return table !== undefined && here.has(table) && !there.has(table)
}

function differences(
  thing: string,
  facts: Readonly<Record<string, string>>,
  others: Readonly<Record<string, string>>,
): readonly string[] {
  return [...new Set([...Object.keys(facts), ...Object.keys(others)])]
    .filter((fact) => facts[fact] !== others[fact])
    .map(
      (fact) => `${thing}: ${fact} is ${facts[fact] ?? 'none'} in the archive, ${others[fact] ?? 'none'} in the target`,
    )
}

function factsOf({ types, sequences, tables }: StructureLines): Facts {
  const facts = new Map<string, Readonly<Record<string, string>>>()
  for (const type of types) facts.set(`${type.kind} "${type.content.name}"`, typeFacts(type))
  for (const { name, type, increment, min, max, cycle } of sequences) {
    facts.set(`sequence "${name}"`, { type, increment, minimum: min, maximum: max, cycle: cycle ? 'yes' : 'no' })
  }
  for (const table of tables) {
    facts.set(`table "${table.name}"`, {})
    for (const [thing, thingFacts] of tableFacts(table)) facts.set(`${thing} of table "${table.name}"`, thingFacts)
  }
  return facts
}

function typeFacts(type: TypeLine): Readonly<Record<string, string>> {
  switch (type.kind) {
    case 'enum':
      return { 'list of values': type.content.values.map((value) => JSON.stringify(value)).join(', ') }
    case 'domain':
      return present({
        type: type.content.type,
        nullable: yesOrNo(type.content.nullable),
        default: type.content.default,
        collation: type.content.collation,
        checks: type.content.checks?.map(({ name, definition }) => `${name} ${definition}`).join(', ') || undefined,
      })
    case 'composite':
      return {
        attributes: type.content.attributes.map((attribute) => `${attribute.name} ${attribute.type}`).join(', '),
      }
    case 'range':
      return { subtype: type.content.subtype }
  }
}

function tableFacts(table: TableLine): readonly (readonly [string, Readonly<Record<string, string>>])[] {
  const definitions = [
    ...(table.primaryKey ? [['primary key', table.primaryKey] as const] : []),
    ...(table.unique ?? []).map((entry) => ['unique constraint', entry] as const),
    ...(table.checks ?? []).map((entry) => ['check', entry] as const),
    ...(table.foreignKeys ?? []).map((entry) => ['foreign key', entry] as const),
    ...(table.exclusions ?? []).map((entry) => ['exclusion constraint', entry] as const),
    ...(table.indexes ?? []).map((entry) => ['index', entry] as const),
  ]
  return [
    ...table.columns.map((column) => [`column "${column.name}"`, columnFacts(column)] as const),
    ...definitions.map(([kind, { name, definition }]) => [`${kind} "${name}"`, { definition }] as const),
  ]
}

const columnFacts = (column: TableLine['columns'][number]): Readonly<Record<string, string>> =>
  present({
    type: column.type,
    nullable: yesOrNo(column.nullable),
    default: column.default,
    'generation expression': column.generated,
    identity: column.identity?.generation,
    collation: column.collation,
  })

const yesOrNo = (flag: boolean): string => (flag ? 'yes' : 'no')

const present = (facts: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(facts).filter((entry): entry is [string, string] => entry[1] !== undefined))
