import { type AppError, notAcceptable } from '../../errors.ts'
import type { CatalogTable, MediaAggregate, StageCatalog } from './catalog.ts'
import { POSTGREST_SAYS } from './postgrest-words.ts'

/** The media types in which rows can be had. */
export const ROW_TYPES = [
  'application/json',
  'application/vnd.pgrst.array+json',
  'application/vnd.pgrst.object+json',
  'text/csv',
  'application/geo+json',
] as const

/** The media types in which the result of a function can be had. */
export const RESULT_TYPES = [...ROW_TYPES, 'text/plain', 'text/xml', 'application/octet-stream'] as const

/** Those that a stage makes of its own: which, only its domains say. */
export const MADE_TYPES = '*/*'

/** The failure that a client takes none of these types. Whether a database has PostGIS is not known before it is asked. */
export const noneOf = (types: readonly string[], asked: string): AppError =>
  notAcceptable(
    types.map((type) => (type === 'application/geo+json' ? `${type} (where the stage's database has PostGIS)` : type)),
    { postgrest: POSTGREST_SAYS.noSuchTypes(asked) },
  )

const MEDIA_TYPE = /^[a-z0-9][\w!#$&^.+-]*\/[a-z0-9][\w!#$&^.+-]*$/

/** What a browser would run, or dress a page with, where a page of the service names the address of it. */
const FOR_PAGES = /^(text|application)\/(x-)?((java|ecma|j|live)script|css)/

/**
 * Whether a stage may have a media type of its own by this name: a domain, which functions and aggregates give.
 *
 * @param name in lower case.
 * @see https://docs.postgrest.org/en/stable/references/api/media_type_handlers.html
 */
export const mayBeMade = (name: string): boolean => MEDIA_TYPE.test(name) && !FOR_PAGES.test(name)

/** Rows of which an answer is to be made. */
export interface MadeOf {
  readonly table: CatalogTable
  /** Whether `select` chooses columns: an aggregate of a table takes only whole rows. */
  readonly isSelected: boolean
}

/** The aggregate that makes an answer of this media type, that of the table before one that takes any rows. */
export function aggregateFor(
  { tables, mediaAggregates }: StageCatalog,
  mediaType: string,
  { table, isSelected }: MadeOf,
): MediaAggregate | undefined {
  const ofType = mediaAggregates.filter((each) => each.mediaType === mediaType)
  // A row of a function's own is of no table, be there one of the function's name.
  const isWhole = !isSelected && tables.get(table.name) === table
  const own = isWhole ? ofType.find((each) => each.table === table.name) : undefined
  return own ?? ofType.find((each) => each.table === null)
}
