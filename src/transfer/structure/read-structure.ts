import { type CatalogRows, readBlockers } from './blockers.ts'
import { cutAtViews } from './circles.ts'
import { readColumns } from './columns.ts'
import { readConstraints } from './constraints.ts'
import type { StructureLines } from './create-statements.ts'
import { inCreationOrder } from './creation-order.ts'
import { type Needs, neededBy, type ObjectKey, readDependencies } from './dependencies.ts'
import {
  type ExtensionNeeds,
  type ExtensionStructure,
  type Owners,
  readExtensionNeeds,
  toExtensionStructures,
} from './extensions.ts'
import { describable, type LineContext } from './line-context.ts'
import type { NotExported, ObjectLine, SequenceLine, TypeLine } from './lines.ts'
import { compareNotExported, readNotExported } from './not-exported.ts'
import { breakableViews, inTwoSteps, neededLate, readObjects, toObjectLines } from './objects/objects.ts'
import { withColumnsInOrder } from './own-columns.ts'
import { groupBy, type Query } from './query.ts'
import { findRefused } from './refused-lines.ts'
import { readSequences, toSequenceLines } from './sequences.ts'
import { readTables, type TableStructure, toTableStructure } from './tables.ts'
import { readTypes, toTypeLines } from './types.ts'

export type { TableStructure } from './tables.ts'

/** A stage's structure, as an archive's lines have it. */
export interface StageStructure {
  readonly comment?: string
  /** What has to be there before: each can be made after those before it. */
  readonly extensions: readonly ExtensionStructure[]
  /** Types, and functions that need no table: each can be made after those before it. */
  readonly beforeTables: readonly (TypeLine | ObjectLine)[]
  readonly sequences: readonly SequenceLine[]
  /** Parents before children where foreign keys allow, else by name. */
  readonly tables: readonly TableStructure[]
  /** Views and what else may need tables: each can be made after those before it. */
  readonly afterTables: readonly ObjectStructure[]
  /** Everything in the schema that the lines do not describe. */
  readonly notExported: NotExported[]
}

export interface ObjectStructure {
  readonly key: ObjectKey
  readonly line: ObjectLine
  /** The tables that it is of, or needs, directly or not. */
  readonly tables: readonly string[]
}

export const toLines = ({
  extensions,
  beforeTables,
  sequences,
  tables,
  afterTables,
}: StageStructure): StructureLines => ({
  extensions: extensions.map(({ line }) => line),
  beforeTables,
  sequences,
  tables: tables.map(({ line }) => line),
  afterTables: afterTables.map(({ line }) => line),
})

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
    const structure = await describeStage(query, catalog, refused)
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
}

async function readCatalog(query: Query, schema: string): Promise<Catalog> {
  const { oid, comment } = await readSchema(query, schema)
  const { dependencies, extensionNeeds } = await readExtensionNeeds(query, oid, await readDependencies(query, oid))
  const objects = await readObjects(query, oid)
  const needs = neededBy(dependencies)
  const cut = cutAtViews(needs, breakableViews(objects))
  return {
    comment,
    dependencies,
    extensionNeeds,
    needs,
    orderedNeeds: cut.needs,
    types: await readTypes(query, oid),
    sequences: await readSequences(query, schema, oid),
    tables: await readTables(query, oid),
    objects: inTwoSteps(objects, cut.inTwoSteps),
    constraints: await readConstraints(query, oid),
    columns: await readColumns(query, oid),
    notExported: await readNotExported(query, oid),
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
  const context: LineContext = { blockerOf, leaveOut: (entry) => notExported.push(entry) }
  const { needs, orderedNeeds, dependencies, extensionNeeds } = catalog

  const objects = toObjectLines(catalog.objects, orderedNeeds, context)
  const late = neededLate(catalog.objects, catalog.tables, needs)
  const early = objects.filter(({ key }) => !late.has(key))
  const beforeTables = inCreationOrder([...toTypeLines(catalog.types, needs, context), ...early])
  const tables = toTables(catalog, needs, context)
  const sequences = toSequenceLines(catalog.sequences, context)
  const afterTables = inCreationOrder(objects.filter(({ key }) => late.has(key)))
  return {
    ...(catalog.comment === null ? {} : { comment: catalog.comment }),
    extensions: toExtensionStructures(extensionNeeds, ownersIn(catalog), dependencies, blockerOf),
    beforeTables: beforeTables.map(({ line }) => line),
    sequences,
    tables,
    afterTables: afterTables.map(({ key, line }) => ({
      key,
      line,
      tables: tablesNeededBy(key, catalog.tables, needs),
    })),
    notExported: notExported.sort(compareNotExported),
  }
}

async function readSchema(query: Query, schema: string): Promise<{ oid: string; comment: string | null }> {
  const [row] = await query<{ oid: string; comment: string | null }>(
    `SELECT n.oid::text AS oid, pg_catalog.obj_description(n.oid, 'pg_namespace') AS comment
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

/** Names of the tables that an object needs, directly or not. */
function tablesNeededBy(key: ObjectKey, tables: CatalogRows['tables'], needs: Needs): readonly string[] {
  const found = new Set<ObjectKey>([key])
  for (const each of found) for (const on of needs.get(each) ?? []) found.add(on)
  return tables.filter((table) => found.has(table.key)).map(({ name }) => name)
}

function toTables(catalog: CatalogRows, needs: Needs, context: LineContext): TableStructure[] {
  const { tables, columns, constraints, sequences } = catalog
  const keyOf = new Map(tables.map(({ name, key }) => [name, key]))
  const columnsOf = groupBy(columns, ({ table_oid }) => table_oid)
  const constraintsOf = groupBy(constraints, ({ table_oid }) => table_oid)
  const identitiesOf = groupBy(sequences, ({ owner }) => (owner?.isIdentity ? owner.key : ''))
  const whole = describable(withRows(context), 'table', tables).map((table) => ({
    key: table.key,
    name: table.name,
    needs: needs.get(table.key) ?? new Set<string>(),
    prefers: new Set((constraintsOf.get(table.oid) ?? []).map((row) => keyOf.get(row.references_table ?? '') ?? '')),
    table,
    columns: columnsOf.get(table.oid) ?? [],
    constraints: constraintsOf.get(table.oid) ?? [],
    identities: new Map((identitiesOf.get(table.key) ?? []).map((row) => [row.owner?.column ?? 0, row])),
  }))
  return withColumnsInOrder(
    inCreationOrder(whole).map((each) => toTableStructure(each, context)),
    context,
  )
}

/** A table that is left out takes its rows with it, which has to be said. */
function withRows({ blockerOf, leaveOut }: LineContext): LineContext {
  return {
    blockerOf,
    leaveOut: (entry) => leaveOut({ ...entry, detail: `${entry.detail}; its rows are not exported either` }),
  }
}
