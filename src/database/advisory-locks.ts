/**
 * The keys of PostgreSQL advisory locks that Wharf takes, in one place so that no two mean the same number.
 * The high half spells "whar", so that other programs on the same database are unlikely to meet them.
 */
const BASE = 0x77686172n << 32n

/** Held while a database is made ready: its control and system tables, and who may connect to it. */
export const MIGRATION_LOCK = (BASE + 1n).toString()

/** Held while jobs are swept, so that one process does it at a time. */
export const JOB_SWEEP_LOCK = (BASE + 11n).toString()

/** Held while a stage is imported into, undone or swept. Two stages share one with a chance of one in 2^61. */
export const stageImportLock = (stageId: string): string => stageLock(stageId, 0n)

/** Shared by those who write rows of a stage over HTTP; held alone by whoever holds the stage's import lock too. */
export const stageWriteLock = (stageId: string): string => stageLock(stageId, 1n)

function stageLock(stageId: string, kind: bigint): string {
  const bits = BigInt(`0x${stageId.replaceAll('-', '').slice(0, 16)}`)
  return BigInt.asIntN(64, (bits & ~1n) | kind | (1n << 63n)).toString()
}
