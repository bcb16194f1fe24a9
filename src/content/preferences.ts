import { AppError, invalidRequest, notAcceptable, RangeNotSatisfiable } from '../errors.ts'
import { splitPreferences } from '../lib/preferences.ts'
import { weightedList } from '../lib/weighted-list.ts'
import {
  type CallForm,
  type ContentFormat,
  type CountKind,
  POSTGREST,
  type RawType,
  type StageCatalog,
} from './query/index.ts'

/** How an answer shall look, as the header `Accept` has it. */
export interface Form {
  readonly format: ContentFormat
  readonly stripNulls: boolean
  readonly contentType: string
  /** Of GeoJSON: the form that the client likes next, for databases without PostGIS. */
  readonly instead?: Form | undefined
}

const JSON_FORM: Form = { format: 'json', stripNulls: false, contentType: 'application/json; charset=utf-8' }

/** By media type without parameters; PostgREST's own among them. */
const FORMATS: ReadonlyMap<string, ContentFormat> = new Map([
  ['application/json', 'json'],
  ['application/*', 'json'],
  ['*/*', 'json'],
  ['application/vnd.pgrst.array+json', 'json'],
  ['application/vnd.pgrst.array', 'json'],
  ['application/vnd.pgrst.object+json', 'object'],
  ['application/vnd.pgrst.object', 'object'],
  ['application/geo+json', 'geojson'],
  ['text/csv', 'csv'],
  ['text/*', 'csv'],
])

/** The media types in which rows can be had. */
export const ROW_TYPES = [
  'application/json',
  'application/vnd.pgrst.array+json',
  'application/vnd.pgrst.object+json',
  'text/csv',
  'application/geo+json',
] as const

/**
 * Chooses the form of rows that a client likes best.
 *
 * @throws {AppError} NOT_ACCEPTABLE
 * @see RFC 9110, section 12.5.1
 */
export function formFor(accept: string | undefined): Form {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return JSON_FORM
  const forms = formsIn(accept)
  const [best] = forms
  if (!best) throw notAcceptable(withConditions(ROW_TYPES))
  return best.format === 'geojson' ? { ...best, instead: forms.find(({ format }) => format !== 'geojson') } : best
}

/**
 * The form of rows where they are.
 *
 * @throws {AppError} NOT_ACCEPTABLE where that is GeoJSON alone, and the database does not have PostGIS.
 */
export function formIn({ toFeature }: Pick<StageCatalog, 'toFeature'>, form: Form): Form {
  if (form.format !== 'geojson' || toFeature !== null) return form
  if (form.instead) return form.instead
  throw new AppError('NOT_ACCEPTABLE', "there is no GeoJSON here, as the stage's database does not have PostGIS")
}

/** Whether a database has PostGIS is not known before it is asked. */
const withConditions = (types: readonly string[]): readonly string[] =>
  types.map((type) => (type === 'application/geo+json' ? `${type} (where the stage's database has PostGIS)` : type))

/** What an answer's form is called in its ETag, and where it is kept. */
export const nameOfForm = ({ format, stripNulls, instead }: Form): string =>
  `${format}${stripNulls ? '.stripped' : ''}${instead ? `.${nameOfForm(instead)}` : ''}`

/** The media types in which one value can be had as it is, with PostgreSQL's type of it. */
const RAW_TYPES: ReadonlyMap<string, RawType> = new Map([
  ['text/plain', 'text'],
  ['text/xml', 'xml'],
  ['application/octet-stream', 'bytea'],
])

/** The media types in which the result of a function can be had. */
export const RESULT_TYPES = [...ROW_TYPES, 'text/plain', 'text/xml', 'application/octet-stream'] as const

/**
 * The forms in which a client takes the result of a function, the one that it likes best first.
 *
 * @throws {AppError} NOT_ACCEPTABLE
 */
export function callFormsFor(accept: string | undefined): readonly CallForm[] {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return [JSON_FORM]
  const forms = formsIn(accept, RAW_TYPES)
  if (forms.length === 0) throw notAcceptable(withConditions(RESULT_TYPES))
  return forms
}

const NO_RAW_TYPES: ReadonlyMap<string, RawType> = new Map()

const formsIn = (accept: string, rawTypes = NO_RAW_TYPES): readonly CallForm[] =>
  weightedList(accept)
    .filter(({ name, weight }) => (FORMATS.has(name) || rawTypes.has(name)) && weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ name, parameters }) => {
      const raw = rawTypes.get(name)
      if (raw !== undefined) return { format: 'json', stripNulls: false, contentType: contentTypeOf(name), raw }
      return rowForm(FORMATS.get(name) ?? 'json', parameters.includes('nulls=stripped'))
    })

const contentTypeOf = (name: string): string => (name.startsWith('text/') ? `${name}; charset=utf-8` : name)

function rowForm(format: ContentFormat, strips: boolean): Form {
  if (format === 'geojson') {
    return { format, stripNulls: false, contentType: 'application/geo+json; charset=utf-8' }
  }
  const stripNulls = strips && format !== 'csv'
  if (format === 'csv') return { format, stripNulls, contentType: 'text/csv; charset=utf-8' }
  const type = format === 'object' ? 'object+json' : 'array+json'
  const stripped = `application/vnd.pgrst.${type}${stripNulls ? ';nulls=stripped' : ''}; charset=utf-8`
  return { format, stripNulls, contentType: format === 'json' && !stripNulls ? JSON_FORM.contentType : stripped }
}

const CHOICES = {
  resolution: ['merge-duplicates', 'ignore-duplicates'],
  missing: ['default', 'null'],
  return: ['representation', 'headers-only', 'minimal'],
  count: ['exact', 'planned', 'estimated'],
  tx: ['commit', 'rollback'],
  handling: ['strict', 'lenient'],
} as const satisfies Readonly<Record<string, readonly string[]>> & { readonly count: readonly CountKind[] }

type Choices = { readonly [N in keyof typeof CHOICES]?: (typeof CHOICES)[N][number] | undefined }

/** What the header `Prefer` asks for, of what this interface knows (RFC 7240; the names are PostgREST's). */
export interface Preferences extends Choices {
  /** In which times are read and written, by its name in the time zone database. */
  readonly timezone?: string | undefined
  /** How many rows a write may change. */
  readonly 'max-affected'?: number | undefined
}

/** In the order in which an answer names them. */
const NAMES: readonly (keyof Preferences)[] = [
  ...(['resolution', 'missing', 'return', 'count', 'tx', 'handling', 'timezone', 'max-affected'] as const),
]

/** Safeguards that a client asks for. Never ignore an unsupported one silently: rows would be lost. */
const GUARDS: ReadonlySet<string> = new Set(['tx', 'max-affected'])

/** A name of the time zone database: PostgreSQL reads an offset such as `+02:00` the other way round than everybody else. */
const TIMEZONE = /^[a-z][\w+/-]{0,63}$/i

function isTimezone(name: string): boolean {
  try {
    return TIMEZONE.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

const ROWS = /^\d{1,15}$/

/**
 * Reads the header `Prefer`. What it does not know it leaves alone, as RFC 7240 has it, but not with `handling=strict`,
 * nor where it was to guard against a change; the first of a name counts. Only with `handling=lenient` does
 * `max-affected` guard nothing.
 *
 * @throws {AppError} INVALID_REQUEST
 */
export function preferencesOf(prefer: string | undefined): Preferences {
  if (prefer === undefined || prefer === '') return {}
  const given = splitPreferences(prefer)
  const choices = choicesOf(given)
  const timezone = given.get('timezone')
  const maxAffected = choices.handling === 'lenient' ? undefined : given.get('max-affected')
  const preferences = {
    ...choices,
    timezone: timezone !== undefined && isTimezone(timezone) ? timezone : undefined,
    'max-affected': ROWS.test(maxAffected ?? '') ? Number(maxAffected) : undefined,
  }
  const understood = new Map<string, unknown>(Object.entries(preferences))
  for (const name of given.keys()) {
    const isNeeded =
      choices.handling === 'strict' || (choices.handling !== 'lenient' && GUARDS.has(name)) || name === 'tx'
    if (understood.get(name) !== undefined || !isNeeded) continue
    const problem = `the preference "${name}" is not supported here, so nothing was done: leave it out`
    throw invalidRequest(problem, [], POSTGREST.unknownPreference)
  }
  return preferences
}

const choicesOf = (given: ReadonlyMap<string, string>): Choices =>
  Object.fromEntries(
    Object.entries(CHOICES).map(([name, choices]) => {
      const value = given.get(name)?.toLowerCase()
      return [name, choices.find((choice) => choice === value)]
    }),
  )

/** The preferences that were applied, for the header `Preference-Applied`; undefined for none. */
export function appliedOf(preferences: Preferences, names: readonly (keyof Preferences)[]): string | undefined {
  const applied = NAMES.filter((name) => names.includes(name) && preferences[name] !== undefined)
  return applied.length > 0 ? applied.map((name) => `${name}=${preferences[name]}`).join(', ') : undefined
}

export interface RowRange {
  readonly offset: number
  readonly limit?: number
}

/**
 * Reads a header `Range` over rows: `0-9`, `10-`, or with the unit before it, `items=0-9`. Other units are left alone, as RFC 9110 has it.
 *
 * @throws {AppError} RANGE_NOT_SATISFIABLE where it ends before it begins.
 */
export function rangeOf(range: string | undefined): RowRange | undefined {
  const [, first, last] = /^(?:items=)?(\d{1,15})-(\d{0,15})$/.exec(range ?? '') ?? []
  if (first === undefined) return undefined
  const offset = Number(first)
  if (!last) return { offset }
  if (Number(last) < offset) throw new RangeNotSatisfiable('the Range ends before it begins', '*/*')
  return { offset, limit: Number(last) - offset + 1 }
}
