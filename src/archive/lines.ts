import { z } from 'zod'
import { count, flag, identifier, list, MAX_PROBLEMS, optional, roleName, sha256, slug, timestamp } from './fields.ts'
import { grants } from './grant-lines.ts'
import {
  cast,
  collation,
  functionLine,
  materializedView,
  operator,
  policy,
  rule,
  statistics,
  textSearchConfiguration,
  textSearchDictionary,
  trigger,
  view,
} from './object-lines.ts'
import { composite, domain, enumType, extension, range, secondStep, sequence, stage, table } from './structure-lines.ts'

/** The versions of the format that are read. */
export const KNOWN_VERSIONS: readonly number[] = [1, 2]

/** The version of the format that is written. */
export const ARCHIVE_VERSION = 2

const archive = z.object({
  version: z.int(),
  createdAt: timestamp,
  snapshotAt: timestamp,
  generator: z.string().min(1),
})

const project = z.object({
  slug,
  targetSlug: optional(slug),
  system: flag,
  /** Where the projects are of several databases: each is as it was at a moment of its own. */
  snapshotAt: optional(timestamp),
})

const permission = flag.default(false)

const role = z.object({
  name: roleName,
  content: z
    .object({
      read: permission,
      write: permission,
      export: permission,
      import: permission,
      /** Missing in archives of versions that did not know it, which say neither yes nor no. */
      structure: optional(flag),
    })
    .prefault({}),
  system: z.object({ export: permission, import: permission }).prefault({}),
})

const event = z.object({
  id: z.guid(),
  stage: slug,
  kind: z.string().min(1),
  table: optional(identifier),
  key: optional(list(identifier)),
  /** Each as PostgreSQL wrote it down, as text: as JSON its numbers would pass through JavaScript's. */
  rows: optional(list(z.string())),
  token: optional(z.guid()),
  occurredAt: timestamp,
})

/** The sections that a table's rows are in are numbered from 1. */
const partNumber = z.int().min(1)

/**
 * What each kind of line holds, but for `row`, of which there are too many for a schema
 * (see `row-lines.ts`). Unknown fields are left out, so that later writers may add some.
 */
export const LINES = {
  archive,
  project,
  /** Where events were removed from the logs: since when all are there. */
  system: z.object({ eventsSince: optional(timestamp) }),
  role,
  event,
  systemEnd: z.object({ roles: count, events: count, sha256 }),
  stage,
  extension,
  enum: enumType,
  domain,
  composite,
  range,
  sequence,
  table,
  collation,
  textSearchDictionary,
  textSearchConfiguration,
  function: functionLine,
  operator,
  cast,
  view,
  materializedView,
  statistics,
  rule,
  trigger,
  policy,
  secondStep,
  grants,
  rows: z.object({ table: identifier, columns: list(identifier), part: optional(partNumber) }),
  rowsEnd: z.object({ table: identifier, part: optional(partNumber), rows: count, sha256, last: optional(flag) }),
  stageEnd: z.object({ slug, tables: count, rows: count }),
  projectEnd: z.object({ slug }),
  end: z.object({ projects: count, rows: count }),
}

type Lines = typeof LINES

/** Every kind of line but `row`. */
export type LineKind = keyof Lines

/** The lines that describe objects beside types, sequences and tables. */
export const OBJECT_KINDS = [
  ...(['collation', 'textSearchDictionary', 'textSearchConfiguration', 'function', 'operator', 'cast'] as const),
  ...(['view', 'materializedView', 'statistics', 'rule', 'trigger', 'policy'] as const),
] as const
export type ObjectLineKind = (typeof OBJECT_KINDS)[number]

/** The lines that describe the structure of a stage. */
export const STRUCTURE_KINDS = [
  ...(['extension', 'enum', 'domain', 'composite', 'range', 'sequence', 'table'] as const),
  ...OBJECT_KINDS,
  'secondStep',
] as const

/** The lines that end what another began, and count and sum up what was between. */
const CLOSING_KINDS = ['systemEnd', 'rowsEnd', 'stageEnd', 'projectEnd', 'end'] as const
export type ClosingKind = (typeof CLOSING_KINDS)[number]
export type OpeningKind = Exclude<LineKind, ClosingKind>

/** What a line holds once it was read: lists and permissions that were left out are there, empty. */
export type LineContent<K extends LineKind> = z.output<Lines[K]>

/** What a line may be written from: lists and permissions may be left out. */
export type LineInput<K extends LineKind> = z.input<Lines[K]>

/** A line with its kind, for `switch`. */
export type Entry<K extends LineKind = LineKind> = {
  [Each in K]: { readonly kind: Each; readonly content: LineContent<Each> }
}[K]

/** A value of a row. Numbers stand only for types that JavaScript's numbers hold exactly. */
export type RowValue = boolean | number | string | null

type Parsed<K extends LineKind> =
  | { readonly success: true; readonly entry: Entry<K> }
  | { readonly success: false; readonly problems: readonly [string, ...string[]] }

/** Checks the content of a line; problems name fields, never what they hold. */
export function toEntry<K extends LineKind>(kind: K, content: unknown): Parsed<K> {
  const parsed = LINES[kind].safeParse(content)
  // The compiler does not follow that the schema of K gives the content of K.
  if (parsed.success) return { success: true, entry: { kind, content: parsed.data } as Entry<K> }
  const [first, ...others] = parsed.error.issues.slice(0, MAX_PROBLEMS).map(({ path, message }) => {
    return `${[kind, ...path].join('.')}: ${message}`
  })
  return { success: false, problems: [first ?? `${kind}: is not valid`, ...others] }
}

/** Whether a line ends what other lines have begun, with their counts or sum. */
export function isClosing(entry: Entry): entry is Entry<ClosingKind> {
  return CLOSING_KINDS.some((kind) => kind === entry.kind)
}

export const isObject = (entry: Entry): entry is Entry<ObjectLineKind> =>
  OBJECT_KINDS.some((kind) => kind === entry.kind)

/** Whether the format knows this kind of line. */
export function isLineKind(kind: string): kind is LineKind {
  return Object.hasOwn(LINES, kind)
}
