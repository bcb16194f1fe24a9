import { setImmediate as nextTurn } from 'node:timers/promises'
import { type CatalogRows, readBlockers } from './blockers.ts'
import { readColumns } from './columns.ts'
import { readConstraints } from './constraints.ts'
import type { StructureLines } from './create-statements.ts'
import type { ObjectKey } from './dependencies.ts'
import {
  type ExtensionNeeds,
  type ExtensionStructure,
  type Owners,
  readExtensionNeeds,
  toExtensionStructures,
} from './extensions.ts'
import type { LineContext } from './line-context.ts'
import type { NotExported, SequenceLine } from './lines.ts'
import { compareNotExported, readNotExported } from './not-exported.ts'
import { inTwoSteps, readObjects } from './objects/objects.ts'
import { type OrderedStructure, toOrderedStructures } from './ordered-structures.ts'
import type { Query } from './query.ts'
import { findRefused } from './refused-lines.ts'
import { readSequences, toSequenceLines } from './sequences.ts'
import { planSteps } from './steps.ts'
import { readTables, type TableStructure } from './tables.ts'
import { readTypes } from './types.ts'

export type { OrderedStructure } from './ordered-structures.ts'
export type { TableStructure } from './tables.ts'

/** A stage's structure, as an archive's lines have it. */
export interface StageStructure {
  readonly comment?: string
  /** What has to be there before: each can be made after those before it. */
  readonly extensions: readonly ExtensionStructure[]
  readonly sequences: readonly SequenceLine[]
  /** Types, tables, functions, views and all else: each can be made after those before it. */
  readonly inOrder: readonly OrderedStructure[]
  /** Everything in the schema that the lines do not describe. */
  readonly notExported: NotExported[]
  /** The extensions whose members stand in the schema itself, between what is the stage's. */
  readonly extensionsInside: readonly string[]
}

export const toLines = ({ extensions, sequences, inOrder }: StageStructure): StructureLines => ({
  extensions: extensions.map(({ line }) => line),
  sequences,
  inOrder: inOrder.map(({ line }) => line),
})

/** The tables, in their order, and how their rows are read. */
export const tablesOf = ({ inOrder }: StageStructure): TableStructure[] =>
  inOrder.flatMap(({ line, rows }) => (line.kind === 'table' && rows ? [{ ...rows, line: line.content }] : []))

/**
 * Reads the structure of a stage from the catalogs, with the positions of its sequences.
 *
 * What depends on something that lines can't describe is left out of them and named in `notExported`: an index over
 * a function of the project's, for one, could not be made in an empty stage. So is what must not stand in a line: every
 * line is one that `readArchive` reads.
 *
 * @param query asks within one transaction whose `search_path` is the stage's (see `query.ts`).
 * @throws Error if there is no such schema.
 */
export async function readStructure(query: Query, schema: string): Promise<StageStructure> {
  const catalog = await readCatalog(query, schema)
  const refused = new Map<ObjectKey, string>()
  for (;;) {
    await nextTurn()
    const structure = await describeStage(query, catalog, refused)
    await nextTurn()
    const more = await findRefused(catalog, structure)
    if (more.size === 0) return structure
    // What needs one of them is left out as well.
    for (const [key, reason] of more) {
      if (refused.has(key)) throw new Error(`a line still has what was left out of it: ${reason}`)
      refused.set(key, reason)
    }
  }
}

/** Reads the structure of a stage as `readStructure`, with what must not stand in a line of an archive. */
export const readWholeStructure = async (query: Query, schema: string): Promise<StageStructure> =>
  describeStage(query, await readCatalog(query, schema), new Map())

interface Catalog extends CatalogRows {
  readonly extensionNeeds: ExtensionNeeds
  readonly comment: string | null
  readonly notExported: readonly NotExported[]
  readonly extensionsInside: readonly string[]
}

async function readCatalog(query: Query, schema: string): Promise<Catalog> {
  const { oid, comment, version } = await readSchema(query, schema)
  const [found, objects, types, tables, constraints, columns, sequences, withoutLine] = await Promise.all([
    readExtensionNeeds(query, oid),
    readObjects(query, oid),
    readTypes(query, oid),
    readTables(query, oid),
    readConstraints(query, oid),
    readColumns(query, oid),
    readSequences(query, schema, oid),
    readNotExported(query, oid),
  ])
  const { dependencies, extensionNeeds, isMember } = found
  const isOwn = ({ key }: { readonly key: ObjectKey }): boolean => !isMember(key)
  const isOfOwn = ({ table_oid }: { readonly table_oid: string }): boolean => !isMember(`pg_class:${table_oid}`)
  const rows = {
    types: types.filter(isOwn),
    tables: tables.filter(isOwn),
    constraints: constraints.filter(isOfOwn),
    columns: columns.filter(isOfOwn),
    dependencies,
  }
  const steps = planSteps({ ...rows, objects, version })
  return {
    ...rows,
    comment,
    extensionNeeds,
    steps,
    objects: inTwoSteps(objects, steps.inTwoSteps),
    sequences: sequences.filter(isOwn),
    ...toLeftOut(withoutLine, extensionNeeds),
  }
}

/** What has no lines in the schema; extensions that have one are none of it, wherever they are. */
function toLeftOut(
  all: readonly NotExported[],
  { extensions }: ExtensionNeeds,
): Pick<Catalog, 'notExported' | 'extensionsInside'> {
  const described = new Set(extensions.map(({ line }) => line.name))
  const isDescribed = ({ kind, name }: NotExported): boolean => kind === 'extension' && described.has(name)
  return {
    notExported: all.filter((thing) => !isDescribed(thing)),
    extensionsInside: all.filter(isDescribed).map(({ name }) => name),
  }
}

/** @param refused what must not stand in lines, with the reason. */
async function describeStage(
  query: Query,
  catalog: Catalog,
  refused: ReadonlyMap<ObjectKey, string>,
): Promise<StageStructure> {
  const notExported = [...catalog.notExported]
  const blockerOf = await readBlockers(query, catalog, refused)
  // What follows takes milliseconds for a stage of many tables, as does what was before.
  await nextTurn()
  const context: LineContext = { blockerOf, leaveOut: (entry) => notExported.push(entry) }
  const { dependencies, extensionNeeds } = catalog
  const inOrder = toOrderedStructures(catalog, context)
  return {
    ...(catalog.comment === null ? {} : { comment: catalog.comment }),
    extensions: toExtensionStructures(extensionNeeds, ownersIn(catalog), dependencies, blockerOf),
    sequences: toSequenceLines(catalog.sequences, context),
    inOrder,
    notExported: notExported.sort(compareNotExported),
    extensionsInside: catalog.extensionsInside,
  }
}

interface SchemaRow {
  readonly oid: string
  readonly comment: string | null
  /** PostgreSQL's major version. */
  readonly version: number
}

async function readSchema(query: Query, schema: string): Promise<SchemaRow> {
  const [row] = await query<SchemaRow>(
    `SELECT n.oid::text AS oid, pg_catalog.obj_description(n.oid, 'pg_namespace') AS comment,
            pg_catalog.current_setting('server_version_num')::integer / 10000 AS version
       FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::pg_catalog.name`,
    [schema],
  )
  if (!row) throw new Error(`there is no schema "${schema}" to read the structure of`)
  return row
}

function ownersIn({ types, sequences, tables, objects, constraints, columns }: CatalogRows): Owners {
  const domains = types.filter((row) => row.kind === 'domain')
  const ofTable = (oid: string): ObjectKey => `pg_class:${oid}`
  return {
    own: new Set([...types, ...sequences, ...tables, ...objects].map(({ key }) => key)),
    ownerOf: new Map<ObjectKey, ObjectKey>([
      ...domains.flatMap(({ key, default_key, check_keys }) =>
        [default_key, ...check_keys.map((check) => check.key)].map((part) => [part, key] as const),
      ),
      ...constraints.map(({ key, table_oid }) => [key, ofTable(table_oid)] as const),
      ...columns.flatMap(({ default_key, table_oid }) =>
        default_key === null ? [] : [[default_key, ofTable(table_oid)] as const],
      ),
    ]),
  }
}
