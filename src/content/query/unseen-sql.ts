import { PG_CATALOG_OID } from '../../database/catalog-oids.ts'

/** What the time of day decides, of PostgreSQL's own functions that are not declared VOLATILE. */
const CLOCK = "('now', 'transaction_timestamp', 'statement_timestamp', 'age')"

/**
 * Common table expressions, of which `unseen_relation (oid)` has the relations of a schema whose rows change without an
 * event of the stage's log: views that call a VOLATILE function, read the clock, take a sample or show what is in another schema,
 * by themselves or through other views; materialized views, which are refreshed; and foreign tables. A function is taken
 * to be what it is declared as.
 *
 * PostgreSQL keeps no record of which of its own functions a view calls, so they are found in the view's parse tree.
 *
 * @param schemaOid SQL for the schema's oid.
 */
export const unseenRelations = (schemaOid: string): string => `
shown AS MATERIALIZED (
  SELECT r.ev_class AS oid, r.ev_action::pg_catalog.text AS tree
    FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
   WHERE c.relnamespace = ${schemaOid} AND c.relkind = 'v' AND r.ev_type = '1'
), shown_relation AS MATERIALIZED (
  SELECT shown.oid AS view, found[1]::pg_catalog.oid AS oid
    FROM shown CROSS JOIN LATERAL pg_catalog.regexp_matches(tree, ':relid ([0-9]+)', 'g') AS found
   WHERE found[1]::pg_catalog.oid NOT IN ('0', shown.oid)
), unseen_relation AS (
  SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relnamespace = ${schemaOid} AND c.relkind IN ('m', 'f')
   UNION
  SELECT s.view FROM shown_relation s JOIN pg_catalog.pg_class c ON c.oid = s.oid WHERE c.relnamespace <> ${schemaOid}
   UNION
  SELECT shown.oid FROM shown
   WHERE tree ~ '[{]SQLVALUEFUNCTION :op [0-8] |[{]TABLESAMPLECLAUSE ' OR EXISTS (
     SELECT FROM pg_catalog.regexp_matches(tree, ':(?:funcid|opfuncid|aggfnoid|winfnoid) ([0-9]+)', 'g') AS called
       JOIN pg_catalog.pg_proc p ON p.oid = called[1]::pg_catalog.oid
       LEFT JOIN pg_catalog.pg_aggregate a ON a.aggfnoid::pg_catalog.oid = p.oid
      WHERE p.provolatile = 'v' OR (p.pronamespace = ${PG_CATALOG_OID} AND p.proname IN ${CLOCK} AND p.pronargs < 2)
         OR EXISTS (SELECT FROM pg_catalog.pg_proc part WHERE part.oid IN (a.aggtransfn::pg_catalog.oid, a.aggfinalfn::pg_catalog.oid) AND part.provolatile = 'v'))
   UNION
  SELECT s.view FROM unseen_relation u JOIN shown_relation s ON s.oid = u.oid
)`
