import { foldCase } from './parse-statement.ts'

/** Whether a text may name the schema before something. */
export function namesSchema(text: string, schema: string): boolean {
  return new RegExp(qualifier(schema), 'iu').test(text)
}

/**
 * Whether a body asks for the schema by its name: in a search path that it sets, or as a value where it compares names of
 * schemas or puts names into SQL. As a mere value, as of a column, the same word means something else.
 */
export function asksForSchema(body: string, schema: string): boolean {
  const name = escaped(schema)
  // As long as a path may be: to the end of all would be looked again and again in a body of many such beginnings.
  const path = `\\bsearch_path\\s{0,9}(?:=|to\\b)[^;]{0,200}(?<![\\w$])${name}(?![\\w$])`
  const isInPath = new RegExp(path, 'iu').test(body)
  return isInPath || (BY_NAME.test(body) && new RegExp(`'${name}'`, 'u').test(body))
}

const BY_NAME = /\b(?:\w+_schema|schemaname|nspname|search_path|regnamespace)\b|%I/i

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

function qualifier(schema: string): string {
  // A name of spaces alone, without quotes, would be looked for at each of many spaces, up to the end of all.
  const quote = /^\s/.test(schema) ? '"' : '"?'
  return `(?<![\\w$])${quote}${escaped(schema)}${quote}\\s*\\.`
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
