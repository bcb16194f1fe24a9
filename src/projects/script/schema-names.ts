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

const qualifier = (schema: string): string => `(?<![\\w$])"?${schema.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}"?\\s*\\.`
