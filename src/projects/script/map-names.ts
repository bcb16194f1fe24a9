import type { Grammar } from '../../archive/sql/grammar.ts'
import { bodyPath } from './body-path.ts'
import { bodyOf } from './function-body.ts'
import type { Change, NameMap } from './name-map.ts'
import { objectNames } from './object-names.ts'
import { foldCase, nodesOf, type ParsedStatement, parseStatement } from './parse-statement.ts'
import { qualifiers } from './qualifiers.ts'

/**
 * Finds where a statement names the schema of a dump: before the name of a table, a type, a function or anything else; in
 * strings that are the name of an object (`nextval('public.s'::regclass)`); in a search path; in the body of a function
 * in SQL.
 *
 * What is written the same and is no schema (a table or a column of that name, a string with that text) stays.
 *
 * @returns what to change; and whether it names the schema in a body of another language, which stays as it is.
 */
export function mapNames(
  grammar: Grammar,
  statement: ParsedStatement,
  map: NameMap,
): { readonly changes: readonly Change[]; readonly leavesBody: boolean } {
  const { trees } = statement
  if (!trees) return { changes: [], leavesBody: false }
  const nodes = [...nodesOf(trees)]
  const changes = [...qualifiers(grammar, statement, nodes, map), ...objectNames(statement, nodes, map)]
  const body = bodyOf(statement, nodes)
  if (body === undefined) return { changes, leavesBody: false }
  if (body.language !== 'sql') return { changes, leavesBody: namesSchema(body.text, map.schema) }
  const mapped = mapBody(grammar, body.text, map)
  if (mapped === body.text) return { changes, leavesBody: false }
  if (mapped === undefined) return { changes, leavesBody: namesSchema(body.text, map.schema) }
  const { start, end } = body.token
  const path = bodyPath(statement, nodes, map)
  return { changes: [...changes, ...path, { start, end, text: body.quote(mapped) }], leavesBody: false }
}

/** Makes the changes. */
export function applyChanges(bytes: Buffer, changes: readonly Change[]): string {
  let at = 0
  const pieces: Buffer[] = []
  for (const { start, end, text } of changes.toSorted((a, b) => a.start - b.start)) {
    pieces.push(bytes.subarray(at, start), Buffer.from(text))
    at = end
  }
  return Buffer.concat([...pieces, bytes.subarray(at)]).toString()
}

/** @returns the body without the schema; undefined where the grammar can't parse it. */
function mapBody(grammar: Grammar, text: string, map: NameMap): string | undefined {
  if (!namesSchema(text, map.schema)) return text
  const parsed = parseStatement(grammar, text)
  if (!parsed.trees) return undefined
  return applyChanges(parsed.bytes, mapNames(grammar, parsed, { ...map, to: undefined }).changes)
}

/** Whether a text may name the schema before something. */
export function namesSchema(text: string, schema: string): boolean {
  return new RegExp(qualifier(schema), 'iu').test(text)
}

/** The names, and the operators, that a text has behind the schema. */
export function namesIn(text: string, schema: string): readonly string[] {
  const names = new RegExp(
    `${qualifier(schema)}\\s*("(?:[^"]|"")+"|[\\p{L}_][\\p{L}\\d_$]*|[~!@#^&|\`?+\\-*/%<>=]+)`,
    'giu',
  )
  return [...text.matchAll(names)].map(([, name = '']) =>
    name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : foldCase(name),
  )
}

const qualifier = (schema: string): string => `(?<![\\w$])"?${schema.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}"?\\s*\\.`
