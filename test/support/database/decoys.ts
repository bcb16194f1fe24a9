import { query, withSession } from '../servers/sessions.ts'

/** The types of what catalogs have, and of what Wharf compares with it, or lets clients compare. */
const TYPES = [
  ...['oid', 'name', 'text', 'varchar', 'bpchar', '"char"', 'int2', 'int4', 'int8', 'float8', 'numeric', 'bool'],
  ...['regclass', 'regtype', 'regproc', 'regprocedure', 'regnamespace', 'regrole'],
  ...['oidvector', 'int2vector', 'name[]', 'text[]', 'varchar[]', '"char"[]', 'oid[]', 'int2[]', 'int4[]', 'int8[]'],
  ...['aclitem', 'aclitem[]', 'json', 'jsonb', 'pg_node_tree', 'xid', 'xid8', 'uuid', 'bytea', 'tid'],
  ...['date', 'timestamptz', 'record', 'int4range', 'tsvector'],
  ...['anyelement', 'anyarray', 'anynonarray', 'anycompatible', 'anycompatiblearray'],
]

/** Those that any two values may have. */
const OPERATORS = ['=', '<>', '<', '<=', '>', '>=', '||', '+', '-', '*', '/', '%', '->', '->>', '~', '!~', '~~', '!~~']

/** Those of clients' queries, for types that have some. */
const OF_QUERIES = ['~*', '~~*', '#', '@@', '@>', '<@', '&&', '<<', '>>', '&<', '&>', '-|-']
const QUERIED = [
  'text',
  'varchar',
  'bpchar',
  'name',
  'text[]',
  'varchar[]',
  'json',
  'jsonb',
  'int4range',
  'int8',
  'bool',
]

/**
 * Makes, for every two of the types, the operators that PostgreSQL itself has none of for exactly these two, in a schema of their own.
 * Nobody but superusers may call their functions: PostgreSQL looks at that for each expression of a statement before it
 * runs, whether or not it comes to evaluate it, and its message names the two types.
 *
 * Written into the catalogs: CREATE OPERATOR would take minutes for so many.
 *
 * @param schema is made where it is not there.
 */
export async function plantDecoys(superuserUrl: string, schema: string): Promise<void> {
  await query(superuserUrl, `CREATE SCHEMA IF NOT EXISTS ${schema}`)
  await query(superuserUrl, `GRANT USAGE ON SCHEMA ${schema} TO PUBLIC`)
  await withSession(superuserUrl, async (client) => {
    await client.query(`
      SET allow_system_table_mods = on;
      CREATE FUNCTION ${schema}.decoy() RETURNS boolean LANGUAGE internal AS 'booleq';
      REVOKE ALL ON FUNCTION ${schema}.decoy() FROM PUBLIC`)
    await client.query(
      `CREATE TEMP TABLE pair AS
         SELECT pg_nextoid('pg_proc', 'oid', 'pg_proc_oid_index') AS function, l::regtype::oid AS l, r::regtype::oid AS r,
                'decoy of ' || l || ' and ' || r AS name
           FROM unnest(ARRAY['${TYPES.join("', '")}']) l CROSS JOIN unnest(ARRAY['${TYPES.join("', '")}']) r`,
    )
    await client.query(
      `INSERT INTO pg_proc SELECT (jsonb_populate_record(p, jsonb_build_object(
           'oid', function, 'proname', name, 'pronargs', 2, 'proargtypes', l || ' ' || r))).*
         FROM pg_proc p, pair WHERE p.oid = '${schema}.decoy'::regproc`,
    )
    await client.query(
      `INSERT INTO pg_operator (oid, oprname, oprnamespace, oprowner, oprkind, oprcanmerge, oprcanhash, oprleft, oprright,
                                oprresult, oprcom, oprnegate, oprcode, oprrest, oprjoin)
       SELECT pg_nextoid('pg_operator', 'oid', 'pg_operator_oid_index'), operator, '${schema}'::regnamespace, 10, 'b', false, false,
              l, r, 'boolean'::regtype, 0, 0, function, 0, 0
         FROM pair CROSS JOIN unnest($1::text[] || $2::text[]) AS operator
        WHERE (operator = ANY ($1) OR l::regtype = ANY ($3::regtype[]) AND r::regtype = ANY ($3::regtype[])) AND NOT EXISTS (
          SELECT FROM pg_operator b
           WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprname = operator AND oprleft = l AND oprright = r)`,
      [OPERATORS, OF_QUERIES, QUERIED],
    )
    await client.query('DROP TABLE pair')
  })
}
