import { quoteIdentifier } from '../../../database/quoting.ts'
import { commentOn } from '../clauses.ts'
import { HIDDEN } from '../hidden-types.ts'
import { jsonObject } from '../query.ts'
import { IS_OWN_SQL, type ObjectKind } from './object-kind.ts'

const DICTIONARY_SQL = `
  'CREATE TEXT SEARCH DICTIONARY ' || pg_catalog.quote_ident(o.dictname::text)
  || ' (TEMPLATE = ' || pg_catalog.quote_ident(t.tmplname::text) || COALESCE(', ' || o.dictinitoption, '') || ')'`

export const TEXT_SEARCH_DICTIONARY: ObjectKind<'textSearchDictionary'> = {
  noun: 'text search dictionary',
  sql: `
SELECT 'pg_ts_dict:' || o.oid::text AS key, o.dictname::text AS name,
       CASE WHEN NOT pg_catalog.pg_ts_dict_is_visible(o.oid) THEN '${HIDDEN}' END AS blocker,
       ${jsonObject({
         name: 'o.dictname',
         definition: DICTIONARY_SQL,
         comment: `pg_catalog.obj_description(o.oid, 'pg_ts_dict')`,
       })} AS line
  FROM pg_catalog.pg_ts_dict o JOIN pg_catalog.pg_ts_template t ON t.oid = o.dicttemplate
 WHERE o.dictnamespace = $1::pg_catalog.oid AND ${IS_OWN_SQL}
 ORDER BY o.dictname`,
  nameOf: ({ name }) => name,
  create: ({ name, definition, comment }) => [
    definition,
    ...commentOn(`TEXT SEARCH DICTIONARY ${quoteIdentifier(name)}`, comment),
  ],
  drop: ({ name }) => `DROP TEXT SEARCH DICTIONARY IF EXISTS ${quoteIdentifier(name)} CASCADE`,
}

const MAPPINGS_SQL = `COALESCE((
         SELECT pg_catalog.json_agg(pg_catalog.json_build_object('token', each.alias, 'dictionaries', each.names)
                                    ORDER BY each.alias)
           FROM (SELECT k.alias,
                        pg_catalog.array_agg(m.mapdict::pg_catalog.regdictionary::text ORDER BY m.mapseqno) AS names
                   FROM pg_catalog.pg_ts_config_map m
                   JOIN pg_catalog.ts_token_type(o.cfgparser) k ON k.tokid = m.maptokentype
                  WHERE m.mapcfg = o.oid
                  GROUP BY k.alias) each), '[]')`

const configuration = (name: string): string => `TEXT SEARCH CONFIGURATION ${quoteIdentifier(name)}`

export const TEXT_SEARCH_CONFIGURATION: ObjectKind<'textSearchConfiguration'> = {
  noun: 'text search configuration',
  sql: `
SELECT 'pg_ts_config:' || o.oid::text AS key, o.cfgname::text AS name,
       CASE WHEN NOT pg_catalog.pg_ts_config_is_visible(o.oid) THEN '${HIDDEN}' END AS blocker,
       ${jsonObject({
         name: 'o.cfgname',
         parser: 'pg_catalog.quote_ident(p.prsname::text)',
         mappings: MAPPINGS_SQL,
         comment: `pg_catalog.obj_description(o.oid, 'pg_ts_config')`,
       })} AS line
  FROM pg_catalog.pg_ts_config o JOIN pg_catalog.pg_ts_parser p ON p.oid = o.cfgparser
 WHERE o.cfgnamespace = $1::pg_catalog.oid AND ${IS_OWN_SQL}
 ORDER BY o.cfgname`,
  nameOf: ({ name }) => name,
  create: ({ name, parser, mappings, comment }) => [
    `CREATE ${configuration(name)} (PARSER = ${parser})`,
    ...mappings.map(
      ({ token, dictionaries }) =>
        `ALTER ${configuration(name)} ADD MAPPING FOR ${quoteIdentifier(token)} WITH ${dictionaries.join(', ')}`,
    ),
    ...commentOn(configuration(name), comment),
  ],
  drop: ({ name }) => `DROP TEXT SEARCH CONFIGURATION IF EXISTS ${quoteIdentifier(name)} CASCADE`,
}
