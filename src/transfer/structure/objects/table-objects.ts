import { quoteIdentifier } from '../../../database/quoting.ts'
import { LOG_FUNCTIONS } from '../../../events/statements.ts'
import { commentOn } from '../clauses.ts'
import { jsonObject } from '../query.ts'
import { ENABLE, enabledSql, type ObjectKind, type ObjectLineOf } from './object-kind.ts'

type TableObject = 'trigger' | 'rule' | 'policy'
type Line = Pick<ObjectLineOf<TableObject>, 'name' | 'table' | 'definition' | 'comment'>

const nameOf = ({ table, name }: Line): string => `${table}.${name}`

/** `TRIGGER "t" ON "table"` */
const target = (noun: string, { name, table }: Line): string =>
  `${noun} ${quoteIdentifier(name)} ON ${quoteIdentifier(table)}`

const drop =
  (noun: string) =>
  (line: Line): string =>
    `DROP ${noun} IF EXISTS ${target('', line).trimStart()} CASCADE`

const create =
  (noun: string) =>
  (line: Line): readonly string[] => [line.definition, ...commentOn(target(noun, line), line.comment)]

/** Once all are there: a trigger that acts always would do so for what is made after it. */
const enable =
  (noun: string) =>
  ({ name, table, enabled }: ObjectLineOf<'trigger'>): readonly string[] => {
    const how = ENABLE[enabled]
    return how === undefined ? [] : [`ALTER TABLE ${quoteIdentifier(table)} ${how} ${noun} ${quoteIdentifier(name)}`]
  }

const lineSql = (catalog: string, prefix: string, properties: Readonly<Record<string, string>>): string =>
  jsonObject({
    name: `o.${prefix}name`,
    table: 'c.relname',
    ...properties,
    comment: `pg_catalog.obj_description(o.oid, '${catalog}')`,
  })

const objectSql = (catalog: string, prefix: string, line: string): string => `
SELECT '${catalog}:' || o.oid::text AS key, c.relname::text || '.' || o.${prefix}name::text AS name, NULL AS blocker, ${line} AS line
  FROM pg_catalog.${catalog} o`

/** The copies that partitions have of a trigger, where they act at other times than it does. */
const PARTITIONS_SQL = `(
         WITH RECURSIVE copy AS (
           SELECT k.oid, k.tgrelid, k.tgenabled FROM pg_catalog.pg_trigger k WHERE k.tgparentid = o.oid
            UNION ALL
           SELECT k.oid, k.tgrelid, k.tgenabled FROM copy JOIN pg_catalog.pg_trigger k ON k.tgparentid = copy.oid
         )
         SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
                  'table', p.relname, 'enabled', ${enabledSql('copy.tgenabled')}) ORDER BY p.relname)
           FROM copy JOIN pg_catalog.pg_class p ON p.oid = copy.tgrelid
          WHERE copy.tgenabled <> o.tgenabled AND p.relnamespace = c.relnamespace)`

/** The triggers of tables and views, but for those that keep the event log, and copies that partitions have of others. */
export const TRIGGER: ObjectKind<'trigger'> = {
  noun: 'trigger',
  sql: `${objectSql(
    'pg_trigger',
    'tg',
    lineSql('pg_trigger', 'tg', {
      definition: 'pg_catalog.pg_get_triggerdef(o.oid, true)',
      enabled: enabledSql('o.tgenabled'),
      partitions: PARTITIONS_SQL,
    }),
  )}
  JOIN pg_catalog.pg_class c ON c.oid = o.tgrelid
 WHERE c.relnamespace = $1::pg_catalog.oid AND NOT o.tgisinternal AND o.tgparentid = '0'
   AND o.tgfoid NOT IN (
         SELECT p.oid FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
          WHERE (n.nspname, p.proname) IN (${LOG_FUNCTIONS}))
 ORDER BY c.relname, o.tgname`,
  nameOf,
  create: create('TRIGGER'),
  complete: (line) => [
    ...enable('TRIGGER')(line),
    ...(line.partitions ?? []).map(
      ({ table, enabled }) =>
        `ALTER TABLE ONLY ${quoteIdentifier(table)} ${ENABLE[enabled] ?? 'ENABLE'} TRIGGER ${quoteIdentifier(line.name)}`,
    ),
  ],
  drop: drop('TRIGGER'),
}

export const RULE: ObjectKind<'rule'> = {
  noun: 'rule',
  sql: `${objectSql(
    'pg_rewrite',
    'rule',
    lineSql('pg_rewrite', 'rule', {
      definition: `pg_catalog.rtrim(pg_catalog.pg_get_ruledef(o.oid, true), ';')`,
      enabled: enabledSql('o.ev_enabled'),
    }),
  )}
  JOIN pg_catalog.pg_class c ON c.oid = o.ev_class
 WHERE c.relnamespace = $1::pg_catalog.oid AND o.rulename <> '_RETURN'
 ORDER BY c.relname, o.rulename`,
  nameOf,
  create: create('RULE'),
  complete: enable('RULE'),
  drop: drop('RULE'),
}

const POLICY_SQL = `
  'CREATE POLICY ' || pg_catalog.quote_ident(o.polname::text) || ' ON ' || pg_catalog.quote_ident(c.relname::text)
  || CASE WHEN o.polpermissive THEN '' ELSE ' AS RESTRICTIVE' END
  || CASE o.polcmd WHEN 'r' THEN ' FOR SELECT' WHEN 'a' THEN ' FOR INSERT' WHEN 'w' THEN ' FOR UPDATE'
                   WHEN 'd' THEN ' FOR DELETE' ELSE '' END
  || COALESCE(' USING (' || pg_catalog.pg_get_expr(o.polqual, o.polrelid) || ')', '')
  || COALESCE(' WITH CHECK (' || pg_catalog.pg_get_expr(o.polwithcheck, o.polrelid) || ')', '')`

/** The roles that a policy is for, but for everybody. The session's own login has another name at the target. */
const POLICY_ROLES = `CASE WHEN '0'::pg_catalog.oid <> ALL (o.polroles) THEN (
    SELECT pg_catalog.json_agg(CASE WHEN r.rolname = CURRENT_USER THEN '"owner"'::json
                                    ELSE pg_catalog.json_build_object('role', r.rolname) END
                               ORDER BY r.rolname <> CURRENT_USER, r.rolname COLLATE "C")
      FROM pg_catalog.pg_roles r WHERE r.oid = ANY (o.polroles)) END`

type Roles = NonNullable<ObjectLineOf<'policy'>['roles']>

const rolesSql = (roles: Roles): string =>
  roles.map((role) => (role === 'owner' ? 'CURRENT_USER' : quoteIdentifier(role.role))).join(', ')

export const POLICY: ObjectKind<'policy'> = {
  noun: 'policy',
  sql: `${objectSql('pg_policy', 'pol', lineSql('pg_policy', 'pol', { definition: POLICY_SQL, roles: POLICY_ROLES }))}
  JOIN pg_catalog.pg_class c ON c.oid = o.polrelid
 WHERE c.relnamespace = $1::pg_catalog.oid
 ORDER BY c.relname, o.polname`,
  nameOf,
  create: (line) => {
    const to = line.roles?.length ? ` TO ${rolesSql(line.roles)}` : ''
    const roles = to === '' ? [] : [`ALTER ${target('POLICY', line)}${to}`]
    return [...create('POLICY')(line), ...roles]
  },
  drop: drop('POLICY'),
}
