import { isDeepStrictEqual } from 'node:util'
import { type Entry, type STRUCTURE_KINDS, toEntry } from '../../archive/lines.ts'
import type { Grammar } from '../../archive/sql/grammar.ts'
import { sqlFieldsOf } from '../../archive/sql/line-definitions.ts'
import { compareDefinitions } from '../../archive/sql/same-definition.ts'
import { createTurns } from '../../lib/give-way.ts'
import type { StructureLines } from './create-statements.ts'
import { isObjectLine, isSecondStep, type OrderedLine, type SecondStepEntry } from './lines.ts'
import { objectName } from './objects/objects.ts'
import { compareText } from './query.ts'

type StructureEntry = Entry<(typeof STRUCTURE_KINDS)[number]>

/** How much of a definition is quoted in a message. */
const MAX_QUOTED = 200

/** A property of what was built that is not what its line says. */
export interface BuiltDifference {
  /** In words. */
  readonly detail: string
  /** Whether expressions are all that differs, by their text. */
  readonly inExpressions: boolean
}

/**
 * Every property of what was built that is not what its line says. What is missing, or there without a line, is not
 * looked for.
 *
 * SQL is compared by what it says to PostgreSQL, everything else to the letter. Gives way to others between two lines or
 * definitions.
 */
export async function builtDifferences(
  grammar: Grammar,
  lines: StructureLines,
  built: StructureLines,
): Promise<readonly BuiltDifference[]> {
  const turn = createTurns()
  const made = new Map(wholeLinesOf(built).map((line) => [nameOf(line), line]))
  const found: BuiltDifference[] = []
  for (const line of wholeLinesOf(lines)) {
    const other = made.get(nameOf(line))
    // Most lines are the same to the letter, and need not be parsed again.
    const mayDiffer = other && !isDeepStrictEqual(line.content, other.content)
    for (const compare of mayDiffer ? comparisons(grammar, entryOf(line), entryOf(other)) : []) {
      const difference = compare()
      if (difference) found.push(difference)
      await turn()
    }
    await turn()
  }
  return found
}

/**
 * Whether what was built from a line is what the line says, but for the words of expressions: an import has held these
 * against what they say (`assert-built.ts`), and PostgreSQL prints them in other words than other versions, or than it has read.
 */
export function isBuiltAsSaid(grammar: Grammar, line: LineOfStructure, built: LineOfStructure): boolean {
  return comparisons(grammar, entryOf(line), entryOf(built)).every((compare) => compare()?.inExpressions !== false)
}

export interface LineOfStructure {
  readonly kind: StructureEntry['kind']
  readonly content: object
}

/** What a line makes as a whole: what was made in two steps is what it would be in one. */
type WholeLine =
  | Exclude<OrderedLine, SecondStepEntry>
  | { readonly kind: 'sequence'; readonly content: StructureLines['sequences'][number] }

const nameOf = (line: WholeLine | StructureEntry): string =>
  `${line.kind} "${isObjectLine(line) ? objectName(line) : line.content.name}"`

const wholeLinesOf = ({ sequences, inOrder }: StructureLines): readonly WholeLine[] => [
  ...sequences.map((content) => ({ kind: 'sequence', content }) as const),
  ...inOrder.filter((line) => !isSecondStep(line)),
]

/** The lists of lines whose order means nothing. */
const UNORDERED = new Set(['unique', 'checks', 'foreignKeys', 'exclusions', 'indexes', 'options'])

/** A line with all its lists, in the order of names where their order means nothing. */
function entryOf({ kind, content }: LineOfStructure): StructureEntry {
  const properties = Object.entries(content).map(([key, value]) => [key, UNORDERED.has(key) ? inOrder(value) : value])
  const parsed = toEntry(kind, Object.fromEntries(properties))
  if (!parsed.success) throw new Error(`what was built is no line: ${parsed.problems[0]}`)
  return parsed.entry
}

const inOrder = (list: readonly (string | { readonly name: string })[] = []): unknown =>
  list.toSorted((a, b) => compareText(nameIn(a), nameIn(b)))

const nameIn = (item: string | { readonly name: string }): string => (typeof item === 'string' ? item : item.name)

/** Compares, one by one, the properties that are not the same to the letter. */
function comparisons(
  grammar: Grammar,
  line: StructureEntry,
  built: StructureEntry,
): readonly (() => BuiltDifference | undefined)[] {
  const definitions = new Map(sqlFieldsOf(line).map(({ field, definition }) => [field, definition]))
  const [said, made] = [propertiesOf(line), propertiesOf(built)]
  return [...new Set([...said.keys(), ...made.keys()])].flatMap((field) => {
    const [a, b] = [said.get(field), made.get(field)]
    // Versions before 18 keep no such names (of domains: before 17), and write none into archives: PostgreSQL chooses them.
    // Before 15, every sequence is logged, whatever its line says.
    const isUnknown =
      (a === undefined || b === undefined) && /\.notNull\.name$|^domain\.notNull$|(^|\.)sequence\.unlogged$/.test(field)
    if (isDeepStrictEqual(a, b) || isUnknown) return []
    return () => {
      const definition = definitions.get(field)
      const difference =
        definition !== undefined && typeof a === 'string' && typeof b === 'string'
          ? compareDefinitions(grammar, a, b, definition)
          : 'more'
      if (difference === 'none') return undefined
      const property = field.slice(line.kind.length + 1)
      const detail = `${nameOf(line)}: ${property} is ${quoted(b)}, where its line says ${quoted(a)}`
      return { detail, inExpressions: difference === 'expressions' }
    }
  })
}

const quoted = (value: unknown): string =>
  value === undefined ? 'nothing' : JSON.stringify(value).slice(0, MAX_QUOTED)

/** All properties, named as messages name fields, without those that say nothing. */
function propertiesOf({ kind, content }: StructureEntry): ReadonlyMap<string, unknown> {
  const properties = new Map<string, unknown>()
  const collect = (field: string, value: unknown): void => {
    if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) collect(`${field}.${key}`, inner)
    } else if (!saysNothing(field, value)) {
      properties.set(field, value)
    }
  }
  collect(kind, content)
  return properties
}

/** What means the same as being left out. */
function saysNothing(field: string, value: unknown): boolean {
  const key = field.slice(field.lastIndexOf('.') + 1)
  return (
    // The sequence of an identity column is as its table is by itself.
    (key === 'unlogged' && value === false && !field.endsWith('.sequence.unlogged')) ||
    (key === 'comment' && value === '') ||
    (key === 'statistics' && value === -1) ||
    // A step on the way to the view: it has the types that its query gives.
    /^view\.columns\.\d+\.(type|collation)$/.test(field) ||
    // Told only by PostgreSQL 18 and later.
    (field.endsWith('.notNull.inherited') && value === true) ||
    (key === 'generatedKind' && value === 'stored')
  )
}
