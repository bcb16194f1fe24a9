import { quoteQualified } from '../database/quoting.ts'
import type { SeenVersion } from '../events/reference-sql.ts'
import type { ContentAccess } from './admission.ts'
import type { ContentAnswer } from './answer.ts'
import { consistentRead, type Source } from './consistent-read.ts'
import type { CatalogTable, StageCatalog } from './query/index.ts'
import type { ReadingServices } from './read-rows.ts'
import { inStageTransaction } from './stage-transaction.ts'

/** Tables up to this size are counted; of larger ones PostgreSQL's own estimate is given. */
const MAX_COUNTED_BYTES = 1024 * 1024

/** A table's rows: counted, or as PostgreSQL estimates them; null where it has no idea, as of a view. */
interface RowCount {
  readonly count: number | null
  readonly exact: boolean
}

/** The stage at a glance: its tables with columns, keys, relations, row counts and links, and the reference they belong to. */
export async function readOverview(
  source: Source,
  access: ContentAccess,
  services: ReadingServices,
): Promise<ContentAnswer> {
  const { seen, catalog, counts } = await consistentRead(source, services, (version) =>
    readOnce({ ...source, version }, services),
  )
  return {
    status: 200,
    reference: seen.reference,
    contentType: 'application/json',
    contentRange: undefined,
    coding: 'identity',
    body: Buffer.from(JSON.stringify(describeStage(access, catalog, counts))),
  }
}

interface Estimate {
  readonly name: string
  readonly rows: number
  readonly countable: boolean
}

async function readOnce(
  { pool, stage, version, extensionSchemas, reference, toSeen }: Source,
  { catalogs, limits: { timeoutMs } }: ReadingServices,
) {
  const { id: stageId, schemaName } = stage
  const at = { pool, stageId, schemaName, extensionSchemas, structure: version.structure, timeoutMs }
  const catalog = await catalogs.plan(at, (known) => known)
  const options = { mode: 'READ ONLY', schemaName, extensionSchemas, table: '', timeoutMs } as const
  return inStageTransaction(pool, options, async (client) => {
    const { rows: estimates } = await client.query<Estimate>(ESTIMATES, [schemaName, MAX_COUNTED_BYTES])
    const countable = estimates.filter(({ name, countable }) => countable && catalog.tables.has(name))
    const counted = countable.map(({ name }) => `(SELECT pg_catalog.count(*) FROM ${quoteQualified(schemaName, name)})`)
    const { select, from, values } = reference
    const { rows } = await client.query<SeenVersion & { readonly counts: readonly string[] }>(
      `SELECT ${select}, ARRAY[${counted.join(', ')}]::text[] AS counts FROM ${from}`,
      [...values],
    )
    const [row] = rows
    if (!row) throw new Error('a read gave no row')
    const counts = new Map<string, RowCount>()
    for (const { name, rows: estimate } of estimates)
      counts.set(name, { count: estimate < 0 ? null : estimate, exact: false })
    for (const [index, { name }] of countable.entries())
      counts.set(name, { count: Number(row.counts[index]), exact: true })
    return { seen: toSeen(row, version), catalog, counts }
  })
}

/**
 * Views have no estimate. Materialized views are refreshed without an event, so they are not counted: the number would be kept. Of a partitioned table the size of the parts is not known here, so it is not counted. Nor is one
 * whose policies hold for the login, where to count it would fail instead of leaving rows out.
 */
const ESTIMATES = `
  SELECT relname AS name, reltuples::float8 AS rows,
         relkind = 'r' AND pg_catalog.pg_relation_size(oid) <= $2
           AND (pg_catalog.current_setting('row_security')::bool OR NOT pg_catalog.row_security_active(oid)) AS countable
  FROM pg_catalog.pg_class
  WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1) AND relkind IN ('r', 'm', 'p')`

function describeStage(
  { project, stage }: ContentAccess,
  catalog: StageCatalog,
  counts: ReadonlyMap<string, RowCount>,
): unknown {
  const self = `/content/${project.slug}/${stage.slug}`
  return {
    project: project.slug,
    stage: stage.slug,
    tables: [...catalog.tables.values()].map((table) => ({
      name: table.name,
      kind: table.kind,
      comment: table.comment,
      columns: [...table.columns.values()].map(({ name, declaredType, type: _, ...column }) => ({
        name,
        type: declaredType,
        ...column,
      })),
      primaryKey: table.primaryKey,
      relations: relationsOf(table, catalog),
      rows: counts.get(table.name) ?? { count: null, exact: false },
      links: { rows: `${self}/${encodeURIComponent(table.name)}` },
    })),
    links: { self },
  }
}

/** The foreign keys from the table and to it, each as it is seen from the table. */
function relationsOf({ name }: CatalogTable, { foreignKeys }: StageCatalog): unknown[] {
  return foreignKeys.flatMap(({ name: key, table, columns, foreignTable, foreignColumns }) => {
    const toOne = { name: key, kind: 'to one', columns, table: foreignTable, foreignColumns }
    const toMany = { name: key, kind: 'to many', columns: foreignColumns, table, foreignColumns: columns }
    return [...(table === name ? [toOne] : []), ...(foreignTable === name ? [toMany] : [])]
  })
}
