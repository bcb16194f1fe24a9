import { type LineKind, STRUCTURE_KINDS } from './lines.ts'
import { MAX_PARTS } from './table-parts.ts'

/** Limits on the lines that a reader keeps in memory: everything but rows and events. */
export interface StructureLimits {
  readonly lines: number
  readonly bytes: number
  /** Names and values in these lines, about. */
  readonly values: number
  readonly projects: number
  /** Sections with rows: a table may have many. */
  readonly parts: number
}

export const STRUCTURE_LIMITS: StructureLimits = {
  lines: 100_000,
  bytes: 64 * 1024 * 1024,
  values: 3_000_000,
  projects: 1_000,
  parts: MAX_PARTS,
}

/** The lines that are kept. The first `rows` of a table and closing lines come with one of these. */
const KEPT: ReadonlySet<LineKind> = new Set([...(['project', 'role', 'stage', 'grants'] as const), ...STRUCTURE_KINDS])

/**
 * Counts the lines that are kept.
 *
 * @returns takes each line, and returns what is wrong with it, for a message; undefined if nothing is.
 */
export function createStructureLimit(
  limits: StructureLimits,
): (kind: LineKind, size: { readonly bytes: number; readonly values: number }) => string | undefined {
  let [lines, total, totalValues, projects, parts] = [0, 0, 0, 0, 0]
  return (kind, { bytes, values }) => {
    if (kind === 'rows') parts += 1
    if (parts > limits.parts) return `is one more than the ${limits.parts} parts of tables that are read`
    if (!KEPT.has(kind)) return undefined
    lines += 1
    total += bytes
    totalValues += values
    if (kind === 'project') projects += 1
    if (projects > limits.projects) return `is one more than the ${limits.projects} projects that are read`
    if (totalValues > limits.values)
      return `makes the lines besides rows and events more than the ${limits.values} values that are read`
    if (lines > limits.lines) return `is one more than the ${limits.lines} lines besides rows and events that are read`
    if (total > limits.bytes)
      return `makes the lines besides rows and events more than the ${limits.bytes} bytes that are read`
    return undefined
  }
}
