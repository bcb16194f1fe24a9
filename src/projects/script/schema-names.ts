import { foldCase } from './parse-statement.ts'

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

function qualifier(schema: string): string {
  // A name of spaces alone, without quotes, would be looked for at each of many spaces, up to the end of all.
  const quote = /^\s/.test(schema) ? '"' : '"?'
  return `(?<![\\w$])${quote}${schema.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}${quote}\\s*\\.`
}
