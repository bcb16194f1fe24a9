import { randomBytes } from 'node:crypto'

/*
 * Two addresses may lead to one database. A lock that a session has taken under a new key, and that another one sees in its own
 * database, says that both are in the same.
 */

/** A key that nobody else uses, for an advisory lock. */
export const newLockKey = (): string => (randomBytes(8).readBigUInt64BE() >> 1n).toString()

/** `$1`: the key. @returns a row with `seen`: whether somebody has the lock in the session's database. */
export const SEEN_LOCK_SQL = `
  SELECT EXISTS (
    SELECT FROM pg_locks
     WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint << 32 | objid::bigint = $1::bigint
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS seen`
