import { isDeepStrictEqual } from 'node:util'
import { toEntry } from '../../archive/lines.ts'
import type { Grammar } from '../../archive/sql/grammar.ts'
import { type SqlField, sqlFieldsOf } from '../../archive/sql/line-definitions.ts'
import { compareDefinitions } from '../../archive/sql/same-definition.ts'
import { createTurns } from '../../lib/give-way.ts'
import type { StructureLines } from './create-statements.ts'
import { isTableEntry, isTypeLine, type TableEntry, type TypeLine } from './lines.ts'

/** Which have SQL that is compared before rows are loaded. */
type Compared = TableEntry | TypeLine

/**
 * A structure whose tables and types have the words of another one wherever their SQL says the same. PostgreSQL prints what
 * it has read in words of its own, and what it reads of that print in others: the check `status IN ('new')` of a `varchar`
 * is not printed in a copy as it is in the original.
 *
 * Gives way to others between two texts.
 */
export async function inWordsOf(
  grammar: Grammar,
  other: StructureLines,
  lines: StructureLines,
): Promise<StructureLines> {
  const turn = createTurns()
  const others = new Map(other.inOrder.filter(isCompared).map((line) => [nameOf(line), line]))
  const inOrder = []
  for (const line of lines.inOrder) {
    const same = isCompared(line) ? others.get(nameOf(line)) : undefined
    inOrder.push(isCompared(line) && same ? await reworded(grammar, same, line, turn) : line)
  }
  return { ...lines, inOrder }
}

const isCompared = (line: StructureLines['inOrder'][number]): line is Compared => isTableEntry(line) || isTypeLine(line)

const nameOf = ({ kind, content }: Compared): string => `${kind} ${content.name}`

async function reworded<Line extends Compared>(
  grammar: Grammar,
  other: Compared,
  line: Line,
  turn: () => Promise<void> | undefined,
): Promise<Line> {
  if (isDeepStrictEqual(other.content, line.content)) return line
  const words = new Map(textsOf(other).map(({ name, text }) => [name, text]))
  const content = structuredClone(line.content)
  for (const { name, field, text, definition } of textsOf(line)) {
    const their = words.get(name)
    if (their === undefined || their === text) continue
    if (compareDefinitions(grammar, their, text, definition) === 'none')
      replaceAt(content, field.split('.').slice(1), their)
    await turn()
  }
  return { ...line, content }
}

/** The texts of SQL of a line, each by what it is called: items of lists by their names, wherever they stand. */
function textsOf({ kind, content }: Compared): readonly (SqlField & { readonly name: string })[] {
  const parsed = toEntry(kind, content)
  if (!parsed.success) throw new Error(`what is there is no line: ${parsed.problems[0]}`)
  return sqlFieldsOf(parsed.entry).map((field) => ({
    ...field,
    name: nameAt(content, field.field.split('.').slice(1)),
  }))
}

function nameAt(content: object, path: readonly string[]): string {
  let at: unknown = content
  return path
    .map((key) => {
      at = isRecord(at) ? at[key] : undefined
      return isRecord(at) && typeof at.name === 'string' ? JSON.stringify(at.name) : key
    })
    .join('.')
}

function replaceAt(content: object, path: readonly string[], text: string): void {
  const [last = '', ...keys] = path.toReversed()
  let at: unknown = content
  for (const key of keys.toReversed()) at = isRecord(at) ? at[key] : undefined
  if (isRecord(at)) at[last] = text
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
