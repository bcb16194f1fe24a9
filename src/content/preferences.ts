import { AppError, invalidRequest, RangeNotSatisfiable } from '../errors.ts'
import { splitPreferences } from '../lib/preferences.ts'
import { weightedList } from '../lib/weighted-list.ts'
import {
  aggregateFor,
  type CallForm,
  type ContentFormat,
  type CountKind,
  type MadeOf,
  type MediaAggregate,
  mayBeMade,
  noneOf,
  POSTGREST,
  POSTGREST_SAYS,
  type RawType,
  RESULT_TYPES,
  ROW_TYPES,
  type StageCatalog,
} from './query/index.ts'

/** How an answer shall look, as the header `Accept` has it. */
export interface Form {
  readonly format: ContentFormat
  readonly stripNulls: boolean
  readonly contentType: string
  /** Of a media type of the project's own: its name in lower case. */
  readonly made?: string
  /** Of a form that not every stage has, the one that the client likes next. */
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

/**
 * Chooses the form of rows that a client likes best.
 *
 * @throws {AppError} NOT_ACCEPTABLE
 * @see RFC 9110, section 12.5.1
 */
export function formFor(accept: string | undefined): Form {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return JSON_FORM
  const best = inTurn(formsIn(accept))
  if (!best) throw noneOf(ROW_TYPES, accept)
  return best
}

/** The first, with what comes instead where a stage does not have it. */
function inTurn([form, ...others]: readonly Form[]): Form | undefined {
  if (!form || (form.format !== 'geojson' && form.made === undefined)) return form
  return { ...form, instead: inTurn(others) }
}

/** A form that a stage has; of a media type of its own, with the aggregate that makes it. */
export interface FormHere extends Form {
  readonly aggregate?: MediaAggregate
}

/**
 * The form that rows have where they are.
 *
 * @param rows whose; without them, only what every table has.
 * @throws {AppError} NOT_ACCEPTABLE where the stage has none that the client takes.
 */
export function formIn(catalog: StageCatalog, form: Form, rows?: () => MadeOf): FormHere {
  for (let each: Form | undefined = form; each; each = each.instead) {
    const aggregate = each.made !== undefined && rows ? aggregateFor(catalog, each.made, rows()) : undefined
    if (aggregate) return { ...each, aggregate }
    if (each.made === undefined && (each.format !== 'geojson' || catalog.toFeature !== null)) return each
  }
  if (form.format !== 'geojson') throw noneOf(ROW_TYPES, namesIn(form).join(', '))
  throw new AppError('NOT_ACCEPTABLE', "there is no GeoJSON here, as the stage's database does not have PostGIS")
}

const namesIn = ({ made, contentType, instead }: Form): readonly string[] => [
  made ?? contentType,
  ...(instead ? namesIn(instead) : []),
]

/** What an answer's form is called in its ETag, and where it is kept. */
export const nameOfForm = ({ format, stripNulls, made, instead }: Form): string =>
  `${made ?? format}${stripNulls ? '.stripped' : ''}${instead ? `.${nameOfForm(instead)}` : ''}`

/** The media types in which one value can be had as it is, with PostgreSQL's type of it. */
const RAW_TYPES: ReadonlyMap<string, RawType> = new Map([
  ['text/plain', 'text'],
  ['text/xml', 'xml'],
  ['application/octet-stream', 'bytea'],
])

/**
 * The forms in which a client takes the result of a function, the one that it likes best first.
 *
 * @throws {AppError} NOT_ACCEPTABLE
 */
export function callFormsFor(accept: string | undefined): readonly CallForm[] {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return [JSON_FORM]
  const forms = formsIn(accept, RAW_TYPES)
  if (forms.length === 0) throw noneOf(RESULT_TYPES, accept)
  return forms
}

const NO_RAW_TYPES: ReadonlyMap<string, RawType> = new Map()

/** As many media types of its own may a request ask a stage for; more of them are passed over. */
const MAX_MADE = 10

function formsIn(accept: string, rawTypes = NO_RAW_TYPES): readonly CallForm[] {
  let made = 0
  return weightedList(accept)
    .filter(({ name, weight }) => weight > 0 && (FORMATS.has(name) || (mayBeMade(name) && made++ < MAX_MADE)))
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ name, parameters }) => {
      const format = FORMATS.get(name)
      if (format !== undefined) return rowForm(format, parameters.includes('nulls=stripped'))
      const raw = rawTypes.get(name)
      const form = { format: 'made', stripNulls: false, contentType: contentTypeOf(name), made: name } as const
      return raw === undefined ? form : { ...form, raw }
    })
}

/** As PostgREST has it, a type of the project's own is as the project calls it. */
const contentTypeOf = (name: string): string =>
  name === 'text/plain' || name === 'text/xml' ? `${name}; charset=utf-8` : name

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
    const unknown = [...given].filter(([each]) => understood.get(each) === undefined).map(asWritten)
    throw invalidRequest(problem, [], POSTGREST.unknownPreference, POSTGREST_SAYS.unknownPreferences(unknown))
  }
  return preferences
}

const asWritten = ([name, value]: readonly [string, string]): string => (value === '' ? name : `${name}=${value}`)

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
  if (Number(last) < offset) {
    const details = 'The lower boundary must be lower than or equal to the upper boundary in the Range header.'
    const postgrest = POSTGREST_SAYS.rangeBeyondEnd(details)
    throw new RangeNotSatisfiable('the Range ends before it begins', '*/*', { postgrest })
  }
  return { offset, limit: Number(last) - offset + 1 }
}
