/**
 * The keys of PostgreSQL advisory locks that Wharf takes, in one place so that no two mean the same number.
 * The high half spells "whar", so that other programs on the same database are unlikely to meet them.
 */
const BASE = 0x77686172n << 32n

/** Held while the control and system tables are migrated. */
export const MIGRATION_LOCK = (BASE + 1n).toString()

/** Held while jobs are swept, so that one process does it at a time. */
export const JOB_SWEEP_LOCK = (BASE + 11n).toString()

/** Held while a stage is imported into, undone or swept. Two stages share one with a chance of one in 2^62. */
export function stageImportLock(stageId: string): string {
  const bits = BigInt(`0x${stageId.replaceAll('-', '').slice(0, 16)}`)
  return BigInt.asIntN(64, bits | (1n << 63n)).toString()
}
