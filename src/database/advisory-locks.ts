/**
 * The keys of PostgreSQL advisory locks that Wharf takes, in one place so that no two mean the same number.
 * The high half spells "whar", so that other programs on the same database are unlikely to meet them.
 */
const BASE = 0x77686172n << 32n

/** Held while the control and system tables are migrated. */
export const MIGRATION_LOCK = (BASE + 1n).toString()
