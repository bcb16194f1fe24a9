import { withRowsMarked } from '../../contract/completeness.ts'
import type { ExportSelection } from '../../contract/export.ts'
import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import { conflict, notFound } from '../../errors.ts'
import { type FindRoles, readExternalRoles } from '../../projects/role-names.ts'
import { searchStage } from '../../projects/stage-path.ts'
import type { Stage } from '../../projects/stages.ts'
import type { ObjectGrants } from '../structure/grants/grants.ts'
import { compareNotExported } from '../structure/not-exported.ts'
import type { Query } from '../structure/query.ts'
import { readStructure, type StageStructure, type TableStructure, tablesOf } from '../structure/read-structure.ts'
import { chooseRights } from './choose-rights.ts'
import { excludeTables, tableNames, withPartitions } from './exclude-tables.ts'
import { findLargeObjects } from './large-objects.ts'
import type { FoundTable } from './locked-source.ts'
import type { SourceSnapshot } from './snapshot.ts'
import { cursorsOf, declareCursors, type TableCursors } from './table-cursors.ts'
import { findUnclearNames } from './unclear-names.ts'

/** A project whose tables' cursors are open. */
export interface DeclaredProject {
  readonly selection: ExportSelection
  readonly source: SourceSnapshot
  readonly stages: readonly DeclaredStage[]
}

export interface DeclaredStage {
  readonly stage: Stage
  readonly structure: StageStructure
  /** Undefined where they were not asked for. */
  readonly grants: readonly ObjectGrants[] | undefined
  /** Those that have rows of their own, as partitioned tables have not. */
  readonly tables: readonly DeclaredTable[]
}

export interface DeclaredTable extends TableStructure {
  readonly cursors: TableCursors
}

/** Thrown where a stage's tables are not those that were locked: it was swapped, or changed, in between. */
export class StageMoved extends Error {
  override readonly name = 'StageMoved'
}

/**
 * Reads the structure of a project's stages and declares a cursor for every table, before the first row is read: a
 * cursor holds on to the table that it found, so a swap that comes later cannot change what it reads.
 *
 * @param findRoles of Wharf's own server.
 * @throws {StageMoved} where the tables are not those that were locked.
 * @throws {AppError} NOT_FOUND for a table to exclude that no stage has; CONFLICT for tables whose policies the project's
 *   own login is under, too.
 */
export async function declareTables(
  findRoles: FindRoles,
  source: SourceSnapshot,
  selection: ExportSelection,
): Promise<DeclaredProject> {
  const { stages, session, foundTables, isOwn, extensionSchemas } = source
  const { query } = session
  const excluded = selection.excludeTables ?? []
  const found = new Set<string>()
  const declared: DeclaredStage[] = []
  for (const stage of stages) {
    await session.execute(searchStage(stage.schemaName, extensionSchemas))
    const whole = await readStructure(query, stage.schemaName)
    const before = foundTables.get(stage.slug) ?? []
    assertFound(tablesOf(whole), before)
    for (const name of tableNames(whole)) found.add(name)
    const rest = excludeTables(whole, await withPartitions(query, stage.schemaName, excluded))
    const tables = tablesOf(rest)
    await assertAllRowsVisible(query, tables)
    const names = tables.map(({ line }) => line.name)
    const objects = await findLargeObjects(query, stage.schemaName, names)
    const unclear = await findUnclearNames(query, stage.schemaName, names)
    const { grants, inOrder, leftOut } = await chooseRights(
      isOwn ? findRoles : (roles) => readExternalRoles(query, roles),
      query,
      {
        structure: rest,
        schemaName: stage.schemaName,
        withGrants: selection.grants === true,
      },
    )
    const notExported = withRowsMarked([...rest.notExported, ...objects, ...unclear, ...leftOut]).sort(
      compareNotExported,
    )
    const structure = { ...rest, inOrder, notExported }
    const read = await declareStage(source, stage, tables)
    const unlocked = new Set(before.flatMap(({ oid, isReadable }) => (isReadable ? [] : [oid])))
    await assertNotRewritten(
      query,
      read.map(({ oid }) => oid).filter((oid) => unlocked.has(oid)),
    )
    declared.push({ stage, structure, grants, tables: read })
  }
  const unknown = excluded.find((name) => !found.has(name))
  if (unknown !== undefined) throw notFound('table', unknown, `in project "${selection.slug}"`)
  return { selection, source, stages: declared }
}

function assertFound(tables: readonly TableStructure[], before: readonly FoundTable[]): void {
  const found = new Set(before.map(({ oid }) => oid))
  if (tables.some(({ oid }) => !found.has(oid))) throw new StageMoved('a table came after the locks were taken')
}

/**
 * A table that the login may read only since it was found was not locked before the snapshot was taken: where it was truncated or
 * rewritten in between, the snapshot finds it empty.
 *
 * @param tables by their object ids, which are locked by now.
 */
async function assertNotRewritten(query: Query, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return
  const rewritten = await query(
    `SELECT FROM pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])
        AND pg_catalog.pg_relation_filenode(oid) IS DISTINCT FROM relfilenode LIMIT 1`,
    [tables],
  )
  if (rewritten.length > 0) throw new StageMoved('a table was rewritten after the snapshot was taken')
}

/**
 * FORCE ROW LEVEL SECURITY puts a table's owner under its policies. No session can do without them but that of a login with
 * BYPASSRLS, and to alter the table for the time of an export would lock out its readers.
 */
async function assertAllRowsVisible(query: Query, tables: readonly TableStructure[]): Promise<void> {
  const forced = tables.filter(({ line: { rowSecurity } }) => rowSecurity?.enabled && rowSecurity.forced)
  if (forced.length === 0) return
  const [login] = await query<{ name: string; bypasses: boolean }>(
    `SELECT rolname::pg_catalog.text AS name, rolbypassrls OR rolsuper AS bypasses FROM pg_catalog.pg_roles
      WHERE rolname OPERATOR(pg_catalog.=) CURRENT_USER`,
    [],
  )
  if (!login || login.bypasses) return
  const names = forced.map(({ line }) => quoteIdentifier(line.name))
  throw conflict(
    `the project's own login may not read all rows of ${names.join(', ')}, which FORCE ROW LEVEL SECURITY puts under ` +
      `policies for their owner, too: ALTER TABLE ${names[0]} NO FORCE ROW LEVEL SECURITY for as long as the export takes, ` +
      `or, as a superuser, ALTER ROLE ${quoteIdentifier(login.name)} BYPASSRLS, or leave the table out (excludeTables)`,
    forced.map(({ line }) => ({ detail: `table "${line.name}" has FORCE ROW LEVEL SECURITY` })),
  )
}

/** Larger tables are read by all sessions, each of the others by the next one. */
const SHARED_BYTES = 8 * 1024 * 1024

async function declareStage(
  { readers, session, sizes }: SourceSnapshot,
  stage: Stage,
  tables: readonly TableStructure[],
): Promise<readonly DeclaredTable[]> {
  const withRows = tables.filter(({ line }) => line.partitionBy === undefined)
  const reads = withRows.map((table, index) => ({
    table,
    source: {
      oid: table.oid,
      schemaName: stage.schemaName,
      name: table.line.name,
      expressions: table.columns.map(({ expression }) => expression),
      forms: table.columns.map(({ form }) => form),
    },
    sessions: (sizes.get(table.oid) ?? 0) > SHARED_BYTES ? readers : [readers[index % readers.length] ?? session],
  }))
  await declareCursors(reads)
  await assertSameTables(session.query, stage, tables)
  return reads.map(({ table, ...read }) => ({ ...table, cursors: cursorsOf(read) }))
}

/**
 * PostgreSQL looks a table up by its name when a cursor is declared, also in an old snapshot: where the name is another
 * table's by then, the cursor has that.
 */
async function assertSameTables(query: Query, { schemaName }: Stage, tables: readonly TableStructure[]): Promise<void> {
  const [moved] = await query<object>(
    `SELECT FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.oid[]))
              AS declared (name, oid)
      WHERE pg_catalog.to_regclass(name)::pg_catalog.oid IS DISTINCT FROM oid LIMIT 1`,
    [tables.map(({ line }) => quoteQualified(schemaName, line.name)), tables.map(({ oid }) => oid)],
  )
  if (moved) throw new StageMoved('a table changed its name while cursors were declared')
}
