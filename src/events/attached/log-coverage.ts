import { LOG_SCHEMA } from './log-names.ts'
import { missingTriggersSql } from './log-triggers.ts'

/** What the log sees of a stage. It follows from the structure that the stage's version has. */
export interface LogCoverage {
  /** Why changes to the stage can go unseen; then, nothing of it counts as known. */
  readonly problems: readonly string[]
  /** Views and the like that show what is not in the stage's tables: nothing of these counts as known. */
  readonly unseen: ReadonlySet<string>
}

/** Reads both, with the structure that they belong to, of one snapshot. `$1`: the stage. */
export const COVERAGE_SQL = `
WITH RECURSIVE stage AS (
       SELECT s.schema_name, n.oid FROM ${LOG_SCHEMA}.stage_state s JOIN pg_catalog.pg_namespace n ON n.nspname = s.schema_name
        WHERE s.stage_id = $1::pg_catalog.uuid
     ),
     relation AS (
       SELECT c.oid, c.relname::text AS name, c.relkind, EXISTS (
                SELECT FROM pg_catalog.pg_depend e WHERE e.classid = c.tableoid AND e.objid = c.oid AND e.deptype = 'e') AS is_member
         FROM pg_catalog.pg_class c JOIN stage ON c.relnamespace = stage.oid
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
     ),
     written AS (SELECT * FROM relation WHERE relkind IN ('r', 'p') AND NOT is_member),
     problem AS (
       SELECT DISTINCT pg_catalog.format('table "%s" lacks triggers of the log, or has them changed', m.name) AS problem
         FROM (${missingTriggersSql('(SELECT schema_name FROM stage)')}) m
        UNION ALL
       SELECT pg_catalog.format('table "%s" shares its rows with %s, which keeps no log (partitions and tables that inherit)',
                                w.name, other.oid::pg_catalog.regclass)
         FROM written w
         JOIN pg_catalog.pg_inherits i ON w.oid IN (i.inhrelid, i.inhparent)
         JOIN pg_catalog.pg_class other ON other.oid IN (i.inhrelid, i.inhparent) AND other.oid NOT IN (SELECT oid FROM written)
        UNION ALL
       SELECT pg_catalog.format('table "%s" is written by a subscription, which fires no such triggers', w.name)
         FROM written w JOIN pg_catalog.pg_subscription_rel s ON s.srrelid = w.oid
        UNION ALL
       SELECT pg_catalog.format('a foreign key connects table "%s" to one that comes with an extension, and keeps no log', r.name)
         FROM relation r JOIN pg_catalog.pg_constraint k ON k.contype = 'f' AND r.oid IN (k.conrelid, k.confrelid)
        WHERE NOT r.is_member AND (k.conrelid IN (SELECT oid FROM relation WHERE is_member)
                                   OR k.confrelid IN (SELECT oid FROM relation WHERE is_member))
        UNION ALL
       SELECT 'a trigger of the log itself is disabled' WHERE NOT EXISTS (
         SELECT FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid
           JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname = '${LOG_SCHEMA}' AND c.relname = 'open_transaction' AND g.tgname = 'place_transaction' AND g.tgenabled = 'A')
     ),
     shown AS MATERIALIZED (
       SELECT r.oid, w.ev_action::text AS action FROM relation r JOIN pg_catalog.pg_rewrite w ON w.ev_class = r.oid AND w.rulename = '_RETURN'
        WHERE r.relkind = 'v'
     ),
     reads AS MATERIALIZED (
       SELECT shown.oid AS view, found[1]::pg_catalog.oid AS relation
         FROM shown CROSS JOIN LATERAL pg_catalog.regexp_matches(action, ':relid ([0-9]+)', 'g') found
        WHERE found[1]::pg_catalog.oid NOT IN (0, shown.oid)
     ),
     unseen AS (
       SELECT oid FROM relation WHERE relkind IN ('m', 'f') OR is_member
        UNION
       SELECT view FROM reads WHERE relation NOT IN (SELECT oid FROM relation)
        UNION
       -- What a function says that is not IMMUTABLE, such as the time, changes without an event.
       SELECT shown.oid FROM shown
        WHERE action ~ 'SQLVALUEFUNCTION' OR EXISTS (
          SELECT FROM pg_catalog.regexp_matches(action, ':(?:opfuncid|funcid|aggfnoid|winfnoid) ([0-9]+)', 'g') called
            JOIN pg_catalog.pg_proc p ON p.oid = called[1]::pg_catalog.oid WHERE p.provolatile <> 'i')
        UNION
       SELECT reads.view FROM unseen JOIN reads ON reads.relation = unseen.oid
     )
SELECT version.structure,
       (SELECT COALESCE(pg_catalog.array_agg(problem ORDER BY problem), '{}') FROM problem)::pg_catalog.text[] AS problems,
       (SELECT COALESCE(pg_catalog.array_agg(name), '{}') FROM relation WHERE oid IN (SELECT oid FROM unseen))::pg_catalog.text[] AS unseen
  FROM ${LOG_SCHEMA}.stage_version($1::pg_catalog.uuid) version`
