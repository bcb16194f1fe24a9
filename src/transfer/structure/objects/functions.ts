import { quoteIdentifier } from '../../../database/quoting.ts'
import { commentOn } from '../clauses.ts'
import { jsonObject } from '../query.ts'
import { functionNameSql, IS_OWN_SQL, type ObjectKind, type ObjectLineOf } from './object-kind.ts'
import { setBuildingPath, setStagePath, withoutStagePath } from './search-paths.ts'

const NOUNS: Readonly<Record<ObjectLineOf<'function'>['kind'], string>> = {
  function: 'FUNCTION',
  window: 'FUNCTION',
  procedure: 'PROCEDURE',
  aggregate: 'AGGREGATE',
}

const signature = ({ name, arguments: types }: ObjectLineOf<'function'>): string => `${quoteIdentifier(name)}(${types})`

// `DROP` and `COMMENT` want an aggregate's arguments as `CREATE` has them.
const target = (line: ObjectLineOf<'function'>): string =>
  line.kind === 'aggregate'
    ? `AGGREGATE ${quoteIdentifier(line.name)}(${line.arguments || '*'})`
    : `${NOUNS[line.kind]} ${signature(line)}`

/** `NAME = value` of an aggregate, where there is a value. @param value SQL of a text. */
const option = (name: string, value: string): string => `', ${name} = ' || ${value}`

const flagOption = (name: string, condition: string): string => `CASE WHEN ${condition} THEN ', ${name}' END`

const textOption = (name: string, column: string): string => option(name, `pg_catalog.quote_literal(${column})`)

/** How a final function treats the state, where that is not the usual way. */
const modifyOption = (name: string, column: string, usual: string): string =>
  `CASE WHEN ${column} <> ${usual} THEN ', ${name} = '
        || CASE ${column} WHEN 'r' THEN 'READ_ONLY' WHEN 's' THEN 'SHAREABLE' ELSE 'READ_WRITE' END END`

/** What `pg_dump` writes for an aggregate, for which PostgreSQL has no function. */
const USUAL_MODIFY = `CASE g.aggkind WHEN 'n' THEN 'r'::"char" ELSE 'w'::"char" END`
const AGGREGATE_OPTIONS = [
  option('SSPACE', 'NULLIF(g.aggtransspace, 0)::text'),
  option('FINALFUNC', functionNameSql('g.aggfinalfn')),
  flagOption('FINALFUNC_EXTRA', 'g.aggfinalextra'),
  modifyOption('FINALFUNC_MODIFY', 'g.aggfinalmodify', USUAL_MODIFY),
  option('COMBINEFUNC', functionNameSql('g.aggcombinefn')),
  option('SERIALFUNC', functionNameSql('g.aggserialfn')),
  option('DESERIALFUNC', functionNameSql('g.aggdeserialfn')),
  textOption('INITCOND', 'g.agginitval'),
  option('MSFUNC', functionNameSql('g.aggmtransfn')),
  option('MINVFUNC', functionNameSql('g.aggminvtransfn')),
  option('MSTYPE', `pg_catalog.format_type(NULLIF(g.aggmtranstype, '0'), NULL)`),
  option('MSSPACE', 'NULLIF(g.aggmtransspace, 0)::text'),
  option('MFINALFUNC', functionNameSql('g.aggmfinalfn')),
  flagOption('MFINALFUNC_EXTRA', 'g.aggmfinalextra'),
  modifyOption('MFINALFUNC_MODIFY', 'g.aggmfinalmodify', USUAL_MODIFY),
  textOption('MINITCOND', 'g.aggminitval'),
  option('SORTOP', '(SELECT s.oprname::text FROM pg_catalog.pg_operator s WHERE s.oid = g.aggsortop)'),
  flagOption('HYPOTHETICAL', `g.aggkind = 'h'`),
  `CASE o.proparallel WHEN 's' THEN ', PARALLEL = safe' WHEN 'r' THEN ', PARALLEL = restricted' END`,
]

const AGGREGATE_SQL = `
  'CREATE AGGREGATE ' || pg_catalog.quote_ident(o.proname::text)
  || '(' || COALESCE(NULLIF(pg_catalog.pg_get_function_arguments(o.oid), ''), '*') || ') (SFUNC = '
  || ${functionNameSql('g.aggtransfn')} || ', STYPE = ' || pg_catalog.format_type(g.aggtranstype, NULL)
  || ${AGGREGATE_OPTIONS.map((sql) => `COALESCE(${sql}, '')`).join('\n  || ')} || ')'`

// The schema of a function is always written: it is cut off, so that the function is made in the schema of the session.
const DEFINITION_SQL = `
  CASE WHEN o.prokind = 'a' THEN ${AGGREGATE_SQL}
       ELSE pg_catalog.overlay(routine.definition, '', 1 + pg_catalog.length(routine.head),
                               pg_catalog.length(routine.schema)) END`

const LINE_SQL = jsonObject({
  name: 'o.proname',
  arguments: 'pg_catalog.pg_get_function_identity_arguments(o.oid)',
  kind: `CASE o.prokind WHEN 'p' THEN 'procedure' WHEN 'a' THEN 'aggregate' WHEN 'w' THEN 'window' ELSE 'function' END`,
  definition: DEFINITION_SQL,
  comment: `pg_catalog.obj_description(o.oid, 'pg_proc')`,
})

/** What tells whether a function names its schema. */
interface PathRow {
  readonly search_path: string | null
  readonly schema_name: string
}

/** Functions, procedures and aggregates, but for those that come with another object, such as constructors of ranges. */
export const FUNCTION: ObjectKind<'function'> = {
  noun: ({ kind }) => (kind === 'window' ? 'function' : kind),
  sql: `
SELECT 'pg_proc:' || o.oid::text AS key,
       o.proname::text || '(' || pg_catalog.pg_get_function_identity_arguments(o.oid) || ')' AS name,
       CASE WHEN o.prokind <> 'a' AND l.lanname IN ('c', 'internal') THEN 'it is written in ' || l.lanname::text END AS blocker,
       ${LINE_SQL} AS line, n.nspname::text AS schema_name,
       (SELECT pg_catalog.substr(c, 13) FROM pg_catalog.unnest(o.proconfig) c WHERE c LIKE 'search_path=%') AS search_path
  FROM pg_catalog.pg_proc o
  JOIN pg_catalog.pg_namespace n ON n.oid = o.pronamespace
  JOIN pg_catalog.pg_language l ON l.oid = o.prolang
  LEFT JOIN pg_catalog.pg_aggregate g ON g.aggfnoid::pg_catalog.oid = o.oid
  CROSS JOIN LATERAL (
    SELECT CASE WHEN o.prokind <> 'a' THEN pg_catalog.pg_get_functiondef(o.oid) END AS definition,
           CASE o.prokind WHEN 'p' THEN 'CREATE OR REPLACE PROCEDURE ' ELSE 'CREATE OR REPLACE FUNCTION ' END AS head,
           pg_catalog.quote_ident(n.nspname::text) || '.' AS schema
  ) routine
 WHERE o.pronamespace = $1::pg_catalog.oid AND ${IS_OWN_SQL}
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                    WHERE d.classid = o.tableoid AND d.objid = o.oid AND d.deptype = 'i')
 ORDER BY o.proname, pg_catalog.pg_get_function_identity_arguments(o.oid)`,
  toLine({ line, ...row }) {
    const { search_path = null, schema_name = '' } = row as Partial<PathRow>
    return { ...line, ...withoutStagePath(line.definition, search_path, schema_name) }
  },
  nameOf: ({ name, arguments: types }) => `${name}(${types})`,
  create: (line) => [
    line.definition,
    ...setBuildingPath(`ROUTINE ${signature(line)}`, line.searchPath),
    ...commentOn(target(line), line.comment),
  ],
  settle: (line, schemaName) => setStagePath(`ROUTINE ${signature(line)}`, line.searchPath, schemaName),
  drop: (line) => `DROP ROUTINE IF EXISTS ${signature(line)} CASCADE`,
}
