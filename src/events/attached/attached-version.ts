import { createHash, randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { preparedQuery, type TimedQuery } from '../../database/prepared-query.ts'
import { sqlState } from '../../database/sqlstate.ts'
import type { SeenVersion } from '../reference-sql.ts'
import type { StageVersion } from '../stage-versions.ts'
import { COVERAGE_SQL, type LogCoverage } from './log-coverage.ts'
import { LOG_SCHEMA } from './log-names.ts'

interface VersionRow {
  readonly reference: string | null
  readonly structure: string | null
  readonly crashed: boolean | null
  /** How many transactions are not added up yet. */
  readonly recent?: number
}

const VERSION = {
  name: 'wharf-attached-version',
  text: `SELECT reference, structure, crashed, recent::int AS recent FROM ${LOG_SCHEMA}.stage_version($1::uuid)`,
}

/** One message, and so one transaction. */
const recordCrash = (stageId: string): TimedQuery => ({
  text: `SET LOCAL lock_timeout = '1s'; SELECT ${LOG_SCHEMA}.record_crash('${stageId}'::uuid)`,
  query_timeout: 2_000,
})

/** How many transactions a look may have to add up before that is done for all: a millisecond's work. */
const MAX_RECENT = 2_000

/** Adds up what is there, in one statement: everybody sees the same sum before and after. */
const settle = (stageId: string): TimedQuery => ({
  text: `
    WITH gone AS (DELETE FROM ${LOG_SCHEMA}.recent WHERE stage_id = '${stageId}'::uuid RETURNING part_1, part_2),
         total AS (SELECT bit_xor(part_1) AS part_1, bit_xor(part_2) AS part_2 FROM gone)
    UPDATE ${LOG_SCHEMA}.stage_state SET settled_1 = settled_1 # part_1, settled_2 = settled_2 # part_2
      FROM total WHERE stage_id = '${stageId}'::uuid AND part_1 IS NOT NULL`,
  query_timeout: 60_000,
})

const settling = new Set<string>()

async function settleRecent(pool: pg.Pool, stageId: string): Promise<void> {
  if (settling.has(stageId)) return
  settling.add(stageId)
  // Where it cannot be done, as on a standby, each look goes on adding up.
  await pool.query(settle(stageId)).catch(() => undefined)
  settling.delete(stageId)
}

/** What the log sees, by stage and structure: the same as long as the structure is. */
const coverages = new LRUCache<string, LogCoverage>({ max: 1_000 })

const UNKNOWN: LogCoverage = { problems: ['the structure of the stage is changing'], unseen: new Set() }

/**
 * Reads how a stage stands, by the log in its own database.
 *
 * Its reference follows from all transactions in its log and the structure of the stage, and so is another one after every change that the log
 * sees, and after each change to the catalogs. Where something could have been written unseen, it is one that
 * nothing else has.
 *
 * @param pool as the login that owns the log.
 * @returns undefined where the log, or the stage in it, is not there.
 */
export async function readAttachedVersion(pool: pg.Pool, stageId: string): Promise<StageVersion | undefined> {
  const row = await readRow(pool, stageId)
  const current = row?.crashed ? await recordAndRead(pool, stageId) : row
  if (!current?.structure) return undefined
  const { structure } = current
  const coverage = await readCoverage(pool, stageId, structure)
  if ((current.recent ?? 0) > MAX_RECENT) void settleRecent(pool, stageId)
  return { structure, generation: structure, reference: referenceOf(current, coverage), coverage }
}

async function readRow(pool: pg.Pool, stageId: string): Promise<VersionRow | undefined> {
  const [row] = await preparedQuery<VersionRow>(pool, VERSION, [stageId]).catch((error: unknown) => {
    if (isLogMissing(error)) return []
    throw error
  })
  return row
}

async function recordAndRead(pool: pg.Pool, stageId: string): Promise<VersionRow | undefined> {
  // It may be impossible for now; then, the reference is another one each time.
  await pool.query(recordCrash(stageId)).catch(() => undefined)
  return readRow(pool, stageId)
}

async function readCoverage(pool: pg.Pool, stageId: string, structure: string): Promise<LogCoverage> {
  const key = `${stageId} ${structure}`
  const known = coverages.get(key)
  if (known) return known
  const { rows } = await pool.query<{ structure: string; problems: string[]; unseen: string[] }>(COVERAGE_SQL, [
    stageId,
  ])
  const [row] = rows
  if (row?.structure !== structure) return UNKNOWN
  const coverage = { problems: row.problems, unseen: new Set(row.unseen) }
  coverages.set(key, coverage)
  return coverage
}

const referenceOf = ({ reference, structure, crashed }: VersionRow, { problems }: LogCoverage): string =>
  reference === null || structure === null || crashed !== false || problems.length > 0
    ? randomUUID()
    : toUuid(`${reference} ${structure}`)

/** A UUID of version 8, which says nothing of where it comes from. @see RFC 9562 */
function toUuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

/** Whether a statement failed since the log, or what it needs of it, is not there, or closed to the login. */
export const isLogMissing = (error: unknown): boolean => /^(3F000|42P01|42883|42703|42501)$/.test(sqlState(error) ?? '')

interface SeenRow extends SeenVersion {
  readonly crashed?: boolean | null
}

/** What a read of such a stage selects beside the rows. */
export const attachedReferenceSql = (stageId: string) => ({
  select: 'version.reference, version.structure AS generation, version.crashed, true AS in_place',
  from: `${LOG_SCHEMA}.stage_version($1) AS version`,
  values: [stageId],
})

/**
 * What follows from that.
 *
 * @param version by which the read was planned.
 * @param isSeen whether the log sees all that the read shows: only then is it known to belong to a reference.
 */
export function toAttachedSeen(row: SeenRow, { structure, coverage }: StageVersion, isSeen: boolean): SeenVersion {
  const { reference, generation, crashed = null, in_place } = row
  const known = isSeen && generation === structure ? coverage : undefined
  return {
    reference: referenceOf({ reference, structure: generation, crashed }, known ?? UNKNOWN),
    generation,
    in_place,
  }
}
