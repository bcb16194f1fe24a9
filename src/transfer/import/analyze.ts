import { quoteIdentifier } from '../../database/quoting.ts'
import type { TableLine } from '../structure/lines.ts'
import type { Query } from '../structure/query.ts'
import { familiesOf } from '../structure/table-families.ts'

/**
 * How much the first ANALYZE of a table notes down (`default_statistics_target`) where that has more than so many rows: it reads 300
 * times as many.
 */
const FIRST_TARGETS = [
  { rows: 10_000, target: 3 },
  { rows: 1_000, target: 1 },
] as const

interface TablesToAnalyze {
  readonly tables: readonly TableLine[]
  /** By table; those of partitioned tables are their partitions'. */
  readonly rows: ReadonlyMap<string, number>
  readonly inPlace: boolean
}

/**
 * The statements by which PostgreSQL gets to know the rows, so that it plans well from the first query on.
 *
 * Autovacuum analyzes what was imported once more, within minutes: to it, the rows of a transaction are changes since the
 * last ANALYZE, also where that was in the same transaction. Until then, 900 rows of a large table say enough, and 300 of one
 * that is read fast anyway: of the tables of `npm run bench -- database`, to read 3,000 and 900 takes PostgreSQL two to three times
 * as long, and to read 9,000 of each as long as to make all keys and indexes. Tables to which autovacuum does not come, or not with
 * all of their rows, are analyzed in full.
 *
 * @param settings of the session that has loaded the tables. @param tables whole families.
 */
export function analyzeStatements(
  settings: AnalyzeSettings,
  { tables, rows, inPlace }: TablesToAnalyze,
): readonly string[] {
  // With a partitioned table, its partitions are analyzed: in place, also those that are elsewhere.
  const analyzed = tables.filter(({ partitionOf, partitionBy }) => (inPlace ? partitionBy : partitionOf) === undefined)
  const isAnalyzedAgain = ({ options = [] }: TableLine, count: number): boolean =>
    settings.isOn &&
    settings.threshold + settings.scale * count < count &&
    !options.some((option) => option.startsWith('autovacuum_'))
  const alone = new Set(familiesOf(tables).flatMap((family) => (family.length === 1 ? family : [])))
  const targetOf = (table: TableLine): number | undefined => {
    const count = rows.get(table.name) ?? 0
    if (!alone.has(table) || !isAnalyzedAgain(table, count)) return undefined
    return FIRST_TARGETS.find((first) => count > first.rows)?.target
  }
  const statements = (target: number | undefined): readonly string[] =>
    analyzed.filter((table) => targetOf(table) === target).map(({ name }) => `ANALYZE ${quoteIdentifier(name)}`)
  const first = FIRST_TARGETS.flatMap(({ target }) => {
    const some = statements(target)
    const set = `SET LOCAL default_statistics_target = ${Math.min(target, settings.target)}`
    return some.length === 0 ? [] : [set, ...some]
  })
  return [
    ...first,
    ...(first.length === 0 ? [] : ['SET LOCAL default_statistics_target TO DEFAULT']),
    ...statements(undefined),
  ]
}

/** What a session's settings say of ANALYZE. */
export interface AnalyzeSettings {
  /** Whether autovacuum comes by itself. */
  readonly isOn: boolean
  /** After how many changes it does, and after how many more for each row. */
  readonly threshold: number
  readonly scale: number
  readonly target: number
}

export async function readAnalyzeSettings(query: Query): Promise<AnalyzeSettings> {
  const [settings] = await query<AnalyzeSettings>(SETTINGS_SQL, [])
  if (!settings) throw new Error('PostgreSQL has no settings')
  return settings
}

const SETTINGS_SQL = `
SELECT pg_catalog.current_setting('autovacuum')::pg_catalog.bool
       AND pg_catalog.current_setting('track_counts')::pg_catalog.bool AS "isOn",
       pg_catalog.current_setting('autovacuum_analyze_threshold')::pg_catalog.int4 AS threshold,
       pg_catalog.current_setting('autovacuum_analyze_scale_factor')::pg_catalog.float8 AS scale,
       pg_catalog.current_setting('default_statistics_target')::pg_catalog.int4 AS target`
