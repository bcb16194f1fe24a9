import type pg from 'pg'

/**
 * A session that takes a reserved connection is looked at for `pg_use_reserved_connections` before it has its database,
 * and PostgreSQL remembers the roles it found: `pg_database_owner`, which owns the schema `public`, is not among them.
 * It remembers those of one role only, so that a question about another one makes it look again.
 */
export const RECALL_OWNERSHIP = `SELECT pg_has_role('pg_monitor', 'pg_read_all_data', 'USAGE')`

export const recallOwnership = (client: pg.Client): Promise<unknown> => client.query(RECALL_OWNERSHIP)
