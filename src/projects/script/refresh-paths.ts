import type pg from 'pg'
import { catalogOid } from '../../database/catalog-oids.ts'
import { stagePath } from '../stage-path.ts'

/** The functions of a script whose bodies lost the schema of the dump. */
export interface RefreshPaths {
  /** To be called before the function is made: those that are there before the first one stay as they are. */
  add(name: string): Promise<void>
  /** Sets them before the first of several statements that refresh views. */
  before(statement: string): Promise<void>
  /**
   * Has those that materialized views call search the stage: from version 17, PostgreSQL looks into no schema but its own
   * while it refreshes them.
   */
  set(): Promise<void>
}

/**
 * `$1`: the schema; `$2`: the names; `$3`: what was there before. What the queries of materialized views need, as far as the catalogs know; and what the
 * bodies of functions among that may name.
 */
const CALLED = `WITH RECURSIVE
  own AS (
    SELECT ${catalogOid('pg_proc')} AS catalog, pg_proc.oid, proname AS name, '' AS kind,
      pg_catalog.lower(prosrc) AS body
    FROM pg_catalog.pg_proc JOIN pg_catalog.pg_namespace ON pg_namespace.oid = pronamespace WHERE nspname = $1
    UNION ALL
    SELECT ${catalogOid('pg_class')}, pg_class.oid, relname, relkind::text, NULL
    FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = $1 AND relkind IN ('v', 'm')
  ),
  used (catalog, oid) AS (
    SELECT catalog, oid FROM own WHERE kind = 'm'
    UNION
    SELECT next.catalog, next.oid FROM used CROSS JOIN LATERAL (
      SELECT refclassid, refobjid FROM pg_catalog.pg_depend
      WHERE classid = used.catalog AND objid = used.oid AND objsubid = 0
      UNION ALL
      SELECT refclassid, refobjid FROM pg_catalog.pg_rewrite
      JOIN pg_catalog.pg_depend ON classid = ${catalogOid('pg_rewrite')} AND objid = pg_rewrite.oid
      WHERE used.catalog = ${catalogOid('pg_class')} AND ev_class = used.oid
      UNION ALL
      SELECT named.catalog, named.oid FROM own caller
      JOIN own named ON pg_catalog.strpos(caller.body, pg_catalog.lower(named.name::text)) > 0
      WHERE caller.oid = used.oid AND caller.catalog = used.catalog
    ) next (catalog, oid)
  )
  SELECT pg_proc.oid::pg_catalog.regprocedure::text AS signature
  FROM used JOIN pg_catalog.pg_proc ON used.catalog = ${catalogOid('pg_proc')} AND used.oid = pg_proc.oid
  JOIN pg_catalog.pg_namespace ON pg_namespace.oid = pronamespace
  WHERE nspname = $1 AND proname = ANY ($2) AND prokind IN ('f', 'w')
    AND pg_catalog.concat(pg_proc.oid, pg_proc.ctid) <> ALL ($3::text[])
    AND NOT EXISTS (SELECT FROM pg_catalog.unnest(proconfig) setting WHERE setting LIKE 'search_path=%')
  ORDER BY 1`

/** The functions of a schema, as they are: one that is replaced has another `ctid` afterwards. */
const PRESENT = `SELECT pg_catalog.concat(oid, ctid) AS version FROM pg_catalog.pg_proc
  WHERE pronamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident($1))::pg_catalog.oid`

/** @param client in which a script runs. */
export function createRefreshPaths(client: pg.PoolClient, stageSchema: string): RefreshPaths {
  const names = new Set<string>()
  let before: readonly string[] | undefined
  let isUpToDate = false
  const readPresent = async (): Promise<readonly string[]> => {
    const { rows } = await client.query<{ version: string }>(PRESENT, [stageSchema])
    return rows.map(({ version }) => version)
  }
  const set = async (): Promise<void> => {
    if (names.size === 0 || isUpToDate) return
    isUpToDate = true
    const { rows } = await client.query<{ signature: string }>(CALLED, [stageSchema, [...names], before ?? []])
    for (const { signature } of rows) {
      await client.query(`ALTER FUNCTION ${signature} SET search_path TO ${stagePath(stageSchema)}`)
    }
  }
  return {
    async add(name) {
      before ??= await readPresent()
      names.add(name)
    },
    async before(statement) {
      if (/^refresh\b/i.test(statement)) await set()
      else isUpToDate = false
    },
    set,
  }
}
