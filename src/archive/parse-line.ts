import { parseJson } from '../lib/parse-json.ts'
import { createJsonCounter } from './json-counter.ts'
import { type Entry, isLineKind, KNOWN_VERSIONS, toEntry } from './lines.ts'
import { expectedAt, misplaced, type Position } from './order.ts'
import { findJsonFault } from './strict-json.ts'

/** Makes what is thrown where a line is wrong. */
export type LineFault = (...details: [string, ...string[]]) => Error

/** A line of which nothing but its kind was looked at. */
export interface ParsedLine {
  readonly kind: string
  readonly content: unknown
}

/** How much of a long line is worked on at a time. */
export const STEP_BYTES = 1024 * 1024

const NOT_A_LINE = 'must be an object with one key, which is the kind of the line'

/** Counts names and values of JSON, about; each step is the work of a moment. @throws a fault for too many. */
export function* countValues(bytes: Buffer, fault: LineFault): Generator<undefined, number, undefined> {
  const counter = createJsonCounter()
  for (let counted = 0; counted < bytes.length; counted += STEP_BYTES) {
    const excess = counter.count(bytes.subarray(counted, counted + STEP_BYTES))
    if (excess !== undefined) throw fault(excess)
    if (bytes.length > STEP_BYTES) yield
  }
  return counter.values
}

/** Parses a line; each step is the work of a moment. @throws a fault for what is no line of an archive. */
export function* parseLine(
  bytes: Buffer,
  position: Position,
  fault: LineFault,
): Generator<undefined, ParsedLine, undefined> {
  const value = parseJson(bytes.toString())
  if (value === undefined) throw fault(`is not JSON; expected ${expectedAt(position)}`)
  if (bytes.length > STEP_BYTES) yield
  const problem = findJsonFault(bytes)
  if (problem !== undefined) throw fault(problem)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fault(NOT_A_LINE)
  const [only, ...others] = Object.entries(value)
  if (!only || others.length > 0) throw fault(NOT_A_LINE)
  return { kind: only[0], content: only[1] }
}

/** Checks what a line holds. @throws a fault for one that is not of its kind, or of no kind that is known. */
export function parseEntry({ kind, content }: ParsedLine, position: Position, fault: LineFault): Entry {
  if (kind === 'row' || !isLineKind(kind)) throw fault(misplaced(kind, position))
  if (kind === 'archive') checkVersion(content, fault)
  const parsed = toEntry(kind, content)
  if (!parsed.success) throw fault(...parsed.problems)
  return parsed.entry
}

/** Before anything else of the line, all of which another version may have changed. */
function checkVersion(content: unknown, fault: LineFault): void {
  const version = typeof content === 'object' && content !== null && 'version' in content ? content.version : undefined
  if (!Number.isInteger(version) || KNOWN_VERSIONS.some((known) => known === version)) return
  throw fault(`the archive is of version ${version}; known are versions ${KNOWN_VERSIONS.join(' and ')}`)
}
