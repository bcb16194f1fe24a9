import { encodeLine } from './archive-writer.ts'
import { createJsonCounter } from './json-counter.ts'
import { type LineKind, toEntry } from './lines.ts'
import { DEFAULT_MAX_STRUCTURE_LINE_BYTES } from './read-archive.ts'
import { createDefinitionCheck } from './sql/check-definition.ts'
import { sqlFieldsOf } from './sql/line-definitions.ts'

/** What a reader would find wrong in a line. */
export interface FieldFault {
  /** Where in the line the text of SQL is, e.g. `table.columns.0.default`; undefined where it is the line as a whole. */
  readonly field: string | undefined
  /** What is wrong, for a message: `must …`, `is longer than …`. */
  readonly detail: string
}

export type LineCheck = (kind: LineKind, content: unknown) => Promise<readonly FieldFault[]>

/**
 * Checks lines before they are written, by what `readArchive` checks of a line by itself.
 *
 * @returns takes each line, and returns all that is wrong with it.
 */
export function createLineCheck(): LineCheck {
  const check = createDefinitionCheck()
  return async (kind, content) => {
    const parsed = toEntry<LineKind>(kind, content)
    if (!parsed.success) return [{ field: undefined, detail: parsed.problems[0] }]
    const excess = findExcess(encodeLine(kind, parsed.entry.content))
    if (excess !== undefined) return [{ field: undefined, detail: excess }]
    const faults: FieldFault[] = []
    for (const { field, text, definition } of sqlFieldsOf(parsed.entry)) {
      const detail = await check(text, definition)
      if (detail !== undefined) faults.push({ field, detail })
    }
    return faults
  }
}

function findExcess(line: Buffer): string | undefined {
  const bytes = line.length - 1
  const most = DEFAULT_MAX_STRUCTURE_LINE_BYTES
  return bytes > most ? `is longer than ${most} bytes, the most that is read` : createJsonCounter().count(line)
}
