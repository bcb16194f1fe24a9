import { invalidRequest, notAcceptable } from '../errors.ts'
import { splitPreferences } from '../lib/preferences.ts'
import { weightedList } from '../lib/weighted-list.ts'
import type { ContentFormat, CountKind } from './query/index.ts'

/** How an answer shall look, as the header `Accept` has it. */
export interface Form {
  readonly format: ContentFormat
  readonly stripNulls: boolean
  readonly contentType: string
}

const JSON_FORM: Form = { format: 'json', stripNulls: false, contentType: 'application/json' }

/** By media type without parameters; PostgREST's own among them. */
const FORMATS: ReadonlyMap<string, ContentFormat> = new Map([
  ['application/json', 'json'],
  ['application/*', 'json'],
  ['*/*', 'json'],
  ['application/vnd.pgrst.array+json', 'json'],
  ['application/vnd.pgrst.array', 'json'],
  ['application/vnd.pgrst.object+json', 'object'],
  ['application/vnd.pgrst.object', 'object'],
  ['text/csv', 'csv'],
  ['text/*', 'csv'],
])

/** The media types in which rows can be had. */
export const ROW_TYPES = [
  'application/json',
  'application/vnd.pgrst.array+json',
  'application/vnd.pgrst.object+json',
  'text/csv',
] as const

/**
 * Chooses the form of rows that a client likes best.
 *
 * @throws {AppError} NOT_ACCEPTABLE
 * @see RFC 9110, section 12.5.1
 */
export function formFor(accept: string | undefined): Form {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return JSON_FORM
  const [best] = weightedList(accept)
    .filter(({ name, weight }) => FORMATS.has(name) && weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
  const format = best && FORMATS.get(best.name)
  if (!best || !format) throw notAcceptable(ROW_TYPES)
  const stripNulls = best.parameters.includes('nulls=stripped') && format !== 'csv'
  if (format === 'csv') return { format, stripNulls, contentType: 'text/csv; charset=utf-8' }
  const type = format === 'object' ? 'application/vnd.pgrst.object+json' : 'application/json'
  return {
    format,
    stripNulls,
    contentType: stripNulls
      ? `${type.replace('application/json', 'application/vnd.pgrst.array+json')};nulls=stripped`
      : type,
  }
}

const PREFERENCES = {
  count: ['exact', 'planned', 'estimated'],
  return: ['representation', 'headers-only', 'minimal'],
  missing: ['default', 'null'],
  resolution: ['merge-duplicates', 'ignore-duplicates'],
} as const satisfies Readonly<Record<string, readonly string[]>> & { readonly count: readonly CountKind[] }

/** What the header `Prefer` asks for, of what this interface knows (RFC 7240; the names are PostgREST's). */
export type Preferences = { readonly [N in keyof typeof PREFERENCES]?: (typeof PREFERENCES)[N][number] | undefined }

const KNOWN: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...Object.entries(PREFERENCES),
  ['handling', ['strict', 'lenient']],
  ['tx', ['commit']],
])

/** Safeguards that a client asks for. Never ignore an unsupported one silently: rows would be lost. */
const GUARDS: ReadonlySet<string> = new Set(['tx', 'max-affected'])

/**
 * Reads the header `Prefer`. What it does not know it leaves alone, as RFC 7240 has it, but not with `handling=strict`,
 * nor where it was to guard against a change; the first of a name counts.
 *
 * @throws {AppError} INVALID_REQUEST
 */
export function preferencesOf(prefer: string | undefined): Preferences {
  if (prefer === undefined || prefer === '') return {}
  const given = splitPreferences(prefer)
  const isStrict = given.get('handling') === 'strict'
  for (const [name, value] of given) {
    if (KNOWN.get(name)?.includes(value) || !(isStrict || GUARDS.has(name))) continue
    throw invalidRequest(`the preference "${name}" is not supported here, so nothing was done: leave it out`)
  }
  const pick = <V extends string>(name: string, known: readonly V[]): V | undefined =>
    known.find((value) => value === given.get(name))
  return {
    count: pick('count', PREFERENCES.count),
    return: pick('return', PREFERENCES.return),
    missing: pick('missing', PREFERENCES.missing),
    resolution: pick('resolution', PREFERENCES.resolution),
  }
}

/** The preferences that were applied, for the header `Preference-Applied`; undefined for none. */
export function appliedOf(preferences: Preferences, names: readonly (keyof Preferences)[]): string | undefined {
  const applied = names.flatMap((name) => (preferences[name] === undefined ? [] : [`${name}=${preferences[name]}`]))
  return applied.length > 0 ? applied.join(', ') : undefined
}

export interface RowRange {
  readonly offset: number
  readonly limit?: number
}

/**
 * Reads a header `Range` over rows: `0-9`, `10-`, or with the unit before it, `items=0-9`. Other units are left alone, as RFC 9110 has it.
 *
 * @throws {AppError} INVALID_REQUEST where it ends before it begins.
 */
export function rangeOf(range: string | undefined): RowRange | undefined {
  const [, first, last] = /^(?:items=)?(\d{1,15})-(\d{0,15})$/.exec(range ?? '') ?? []
  if (first === undefined) return undefined
  const offset = Number(first)
  if (!last) return { offset }
  if (Number(last) < offset) throw invalidRequest(`the Range ends before it begins`)
  return { offset, limit: Number(last) - offset + 1 }
}
