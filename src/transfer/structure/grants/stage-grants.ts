import { catalogOid } from '../../../database/catalog-oids.ts'
import type { NotExported } from '../lines.ts'
import type { Query } from '../query.ts'
import {
  granteeName,
  isByItself,
  nameOf,
  type ObjectGrants,
  privilegesOf,
  rightsByItself,
  sameGrants,
} from './grants.ts'
import { readGrants } from './read-grants.ts'

/** The rights in a stage that are others than PostgreSQL gives by itself. */
export async function readStageGrants(query: Query, schemaName: string): Promise<readonly ObjectGrants[]> {
  const [schema] = await query<{ oid: string }>(
    'SELECT oid::text FROM pg_catalog.pg_namespace WHERE nspname = $1::pg_catalog.name',
    [schemaName],
  )
  if (!schema) return []
  const [initial, read] = await Promise.all([
    query<{ privilege: string }>(INITIAL_SQL, [schema.oid]),
    readGrants(query, schema.oid),
  ])
  const byItself = new Set(initial.map(({ privilege }) => privilege))
  const all = read.map((object) => (object.object === 'schema' ? withoutInitial(object, byItself) : object))
  return all.filter((object) => !isByItself(object)).map(({ target: _, ...object }) => object)
}

/** What everybody may do in a schema that PostgreSQL itself has made, in every database: in `public`. */
const INITIAL_SQL = `
SELECT g.privilege_type AS privilege
  FROM pg_catalog.pg_init_privs p CROSS JOIN LATERAL pg_catalog.aclexplode(p.initprivs) g
 WHERE p.classoid = ${catalogOid('pg_namespace')} AND p.objoid = $1::pg_catalog.oid AND g.grantee = '0'`

function withoutInitial<T extends ObjectGrants>(object: T, initial: ReadonlySet<string>): T {
  const grants = object.grants.flatMap((grant) => {
    if (grant.to !== 'public') return [grant]
    const privileges = grant.privileges.filter((privilege) => !initial.has(privilege))
    return privileges.length + grant.grantable.length === 0 ? [] : [{ ...grant, privileges }]
  })
  return { ...object, grants }
}

/** The same as entries of what an archive lacks. */
export const toNotExported = (grants: readonly ObjectGrants[]): readonly NotExported[] =>
  grants.flatMap((object) => {
    const given = object.grants.filter((grant) => !rightsByItself(object).some((own) => sameGrants([own], [grant])))
    const taken = rightsByItself(object).filter(({ to }) => !object.grants.some((grant) => grant.to === to))
    const details = [
      ...given.map((grant) => `${privilegesOf(grant) || 'nothing'} to ${granteeName(grant.to)}`),
      ...taken.map((grant) => `${privilegesOf(grant)} taken from ${granteeName(grant.to)}`),
    ]
    return details.map((detail) => ({ kind: 'grant', name: nameOf(object), detail }))
  })

/**
 * What tells whether rights in a schema were changed since: nothing else writes it down.
 *
 * @param query in a session of any login.
 */
export async function readGrantsState(query: Query, schemaName: string): Promise<string> {
  const [row] = await query<{ state: string }>(STATE_SQL, [schemaName])
  return row?.state ?? ''
}

const STATE_SQL = `
WITH schema AS (SELECT * FROM pg_catalog.pg_namespace WHERE nspname = $1::pg_catalog.name)
SELECT pg_catalog.md5(pg_catalog.string_agg(acl, E'\\n' ORDER BY acl COLLATE "C")) AS state
  FROM (
    SELECT nspacl::text AS acl FROM schema
    UNION ALL SELECT 'relation ' || c.oid::text || c.relacl::text
      FROM pg_catalog.pg_class c JOIN schema ON c.relnamespace = schema.oid
    UNION ALL SELECT 'column ' || c.oid::text || '.' || a.attnum::text || a.attacl::text
      FROM schema JOIN pg_catalog.pg_class c ON c.relnamespace = schema.oid
      JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attacl IS NOT NULL
    UNION ALL SELECT 'function ' || p.oid::text || p.proacl::text
      FROM pg_catalog.pg_proc p JOIN schema ON p.pronamespace = schema.oid
    UNION ALL SELECT 'type ' || t.oid::text || t.typacl::text
      FROM pg_catalog.pg_type t JOIN schema ON t.typnamespace = schema.oid
    UNION ALL SELECT 'new ' || d.defaclrole::text || d.defaclobjtype::text || d.defaclacl::text
      FROM pg_catalog.pg_default_acl d JOIN schema ON d.defaclnamespace = schema.oid
  ) rights`
