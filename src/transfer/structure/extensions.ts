import { EXTENSIONS_SCHEMA } from '../../contract/extensions-schema.ts'
import { catalogOid, PG_CATALOG_OID } from '../../database/catalog-oids.ts'
import { inCreationOrder } from './creation-order.ts'
import { type Dependency, type ObjectKey, readDependencies, wholes } from './dependencies.ts'
import type { BlockerOf } from './line-context.ts'
import type { ExtensionLine } from './lines.ts'
import { jsonObject, type Query } from './query.ts'

/** What a stage needs of extensions that archives can name. */
export interface ExtensionNeeds {
  readonly extensions: readonly ExtensionRow[]
  /** Which objects of the stage need which extension. */
  readonly needs: readonly Need[]
}

interface Need {
  readonly object: ObjectKey
  readonly extension: ObjectKey
}

interface ExtensionRow {
  readonly key: ObjectKey
  readonly line: ExtensionLine
  /** The extensions that it needs itself. */
  readonly requires: readonly ObjectKey[]
}

/** An extension, and the types, tables and other objects of the stage for which it has to be there. */
export interface ExtensionStructure {
  readonly line: ExtensionLine
  readonly neededBy: ReadonlySet<ObjectKey>
}

/**
 * Finds the dependencies on members of extensions in the schemas that every stage searches. Members need no lines of
 * their own: the extension has one. What the body of a function names, PostgreSQL does not know as long as it is
 * a text: an extension is taken to be needed that has something of that name.
 *
 * @returns them, the dependencies that are left, and which objects of the stage's schema come with an extension.
 */
export async function readExtensionNeeds(
  query: Query,
  schemaOid: string,
): Promise<{
  readonly extensionNeeds: ExtensionNeeds
  readonly dependencies: readonly Dependency[]
  readonly isMember: (key: ObjectKey) => boolean
}> {
  const [dependencies, rows] = await Promise.all([
    readDependencies(query, schemaOid),
    query<ExtensionRow>(EXTENSIONS_SQL, []),
  ])
  const extensions = describable(rows)
  if (extensions.length === 0) return { extensionNeeds: { extensions, needs: [] }, dependencies, isMember: () => false }
  const known = new Set(extensions.map(({ key }) => key))
  const isMember = membersAmong(dependencies, known)
  const [members, named] = await Promise.all([
    readMembers(query, dependencies, isMember),
    query<Need>(NAMED_IN_BODIES_SQL, [schemaOid]),
  ])
  const extensionOf = new Map(
    members.filter(({ extension }) => known.has(extension)).map(({ key, extension }) => [key, extension]),
  )
  const needs = dependencies.flatMap(({ object, on }) => {
    const extension = extensionOf.get(on)
    return extension === undefined ? [] : [{ object, extension }]
  })
  return {
    extensionNeeds: { extensions, needs: [...needs, ...named.filter(({ extension }) => known.has(extension))] },
    dependencies: dependencies.filter(({ object, on }) => !extensionOf.has(on) && !isMember(object)),
    isMember,
  }
}

/** Tells what comes with one of the extensions, or is a part of that. */
function membersAmong(
  dependencies: readonly Dependency[],
  extensions: ReadonlySet<ObjectKey>,
): (key: ObjectKey) => boolean {
  const direct = dependencies.filter(({ kind, on }) => kind === 'e' && extensions.has(on))
  if (direct.length === 0) return () => false
  const members = new Set(direct.map(({ object }) => object))
  const whole = wholes(dependencies.filter(({ kind }) => kind === 'i'))
  return (key) => members.has(key) || members.has(whole(key))
}

async function readMembers(
  query: Query,
  dependencies: readonly Dependency[],
  isMember: (key: ObjectKey) => boolean,
): Promise<readonly { readonly key: ObjectKey; readonly extension: ObjectKey }[]> {
  const own = new Set(dependencies.flatMap(({ object }) => (isMember(object) ? [] : [object])))
  const others = [...new Set(dependencies.map(({ on }) => on))].filter((key) => !own.has(key))
  const objects = others.map((key) => ({ key, class: key.split(':')[0], oid: key.split(':')[1] }))
  return objects.length === 0 ? [] : query(MEMBERS_SQL, [JSON.stringify(objects)])
}

/** Without those that need one which is in another schema. */
function describable(rows: readonly ExtensionRow[]): readonly ExtensionRow[] {
  const found = new Map(rows.map((row) => [row.key, row]))
  for (let size = -1; size !== found.size; ) {
    size = found.size
    for (const { key, requires } of found.values()) if (!requires.every((on) => found.has(on))) found.delete(key)
  }
  return [...found.values()]
}

/** Where the parts of what lines describe belong: constraints, defaults and indexes to their tables and types. */
export interface Owners {
  /** All that has a line of its own. */
  readonly own: ReadonlySet<ObjectKey>
  readonly ownerOf: ReadonlyMap<ObjectKey, ObjectKey>
}

/**
 * The extensions that something needs which is described, each after those that it needs itself.
 *
 * @param dependencies of the stage.
 */
export function toExtensionStructures(
  { extensions, needs }: ExtensionNeeds,
  { own, ownerOf }: Owners,
  dependencies: readonly Dependency[],
  blockerOf: BlockerOf,
): ExtensionStructure[] {
  if (needs.length === 0) return []
  const whole = wholes(dependencies)
  const byKey = new Map(extensions.map((row) => [row.key, row]))
  const neededBy = new Map<ObjectKey, Set<ObjectKey>>()
  const add = (extension: ObjectKey, owner: ObjectKey): void => {
    neededBy.set(extension, (neededBy.get(extension) ?? new Set()).add(owner))
    for (const required of byKey.get(extension)?.requires ?? []) add(required, owner)
  }
  for (const { object, extension } of needs) {
    const part = own.has(object) || ownerOf.has(object) ? object : whole(object)
    const owner = ownerOf.get(part) ?? part
    if (own.has(owner) && [object, part, owner].every((key) => blockerOf(key) === undefined)) add(extension, owner)
  }
  const ordered = inCreationOrder(
    extensions.map((row) => ({
      ...row,
      name: row.line.name,
      needs: new Set(row.requires),
      prefers: new Set<string>(),
    })),
  )
  return ordered.flatMap(({ key, line }) => {
    const owners = neededBy.get(key)
    return owners ? [{ line, neededBy: owners }] : []
  })
}

/** The schemas that the session searches: the stage's own, those of extensions, and `pg_catalog`. */
const SEARCHED = 'pg_catalog.current_schemas(true)'

// An array type is no member itself, but a part of one; so is the row type of a table. What identifies an object quotes
// its schema.
const MEMBERS_SQL = `
WITH RECURSIVE part AS (
  SELECT o.key, ('pg_catalog.' || o.class)::pg_catalog.regclass::pg_catalog.oid AS class, o.oid
    FROM pg_catalog.json_to_recordset($1::pg_catalog.json) AS o(key text, class text, oid pg_catalog.oid)
   UNION
  SELECT part.key, d.refclassid, d.refobjid
    FROM part CROSS JOIN LATERAL (
      SELECT * FROM pg_catalog.pg_depend WHERE classid = part.class AND objid = part.oid AND deptype = 'i' OFFSET 0
    ) d
)
SELECT part.key, 'pg_extension:' || d.refobjid::text AS extension
  FROM part CROSS JOIN LATERAL (
    SELECT * FROM pg_catalog.pg_depend
     WHERE classid = part.class AND objid = part.oid AND deptype = 'e'
       AND refclassid = ${catalogOid('pg_extension')} OFFSET 0
  ) d
 WHERE COALESCE((pg_catalog.pg_identify_object(part.class, part.oid, 0)).schema, 'pg_catalog')
       = ANY (ARRAY(SELECT pg_catalog.quote_ident(name) FROM pg_catalog.unnest(${SEARCHED}) AS name))`

const EXTENSIONS_SQL = `
SELECT 'pg_extension:' || x.oid::text AS key,
       ${jsonObject({
         name: 'x.extname',
         version: 'x.extversion',
         schema: `CASE n.nspname WHEN 'pg_catalog' THEN n.nspname ELSE '${EXTENSIONS_SCHEMA}' END`,
         sourceSchema: `CASE WHEN n.nspname NOT IN ('pg_catalog', '${EXTENSIONS_SCHEMA}') THEN n.nspname END`,
       })} AS line,
       ARRAY(SELECT 'pg_extension:' || d.refobjid::text FROM pg_catalog.pg_depend d
              WHERE d.classid = x.tableoid AND d.objid = x.oid AND d.refclassid = x.tableoid) AS requires
  FROM pg_catalog.pg_extension x JOIN pg_catalog.pg_namespace n ON n.oid = x.extnamespace
 WHERE n.nspname = ANY (${SEARCHED})`

/** Members of extensions, of names that neither PostgreSQL itself nor the stage has. */
const membersOf = (catalog: 'pg_proc' | 'pg_type', prefix: 'pro' | 'typ', called: boolean): string => `
  SELECT o.${prefix}name::text AS name, ${called} AS called, d.refobjid AS extension
    FROM pg_catalog.pg_depend d
    JOIN pg_catalog.${catalog} o ON o.oid = d.objid AND d.classid = ${catalogOid(catalog)}
    JOIN pg_catalog.pg_namespace n ON n.oid = o.${prefix}namespace
   WHERE d.deptype = 'e' AND n.nspname = ANY (${SEARCHED}) AND n.nspname <> 'pg_catalog'
     AND NOT EXISTS (SELECT FROM pg_catalog.${catalog} other
                      WHERE other.${prefix}name = o.${prefix}name
                        AND (other.${prefix}namespace = ${PG_CATALOG_OID}
                             OR other.${prefix}namespace = $1::pg_catalog.oid
                                AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
                                                 WHERE e.classid = d.classid AND e.objid = other.oid AND e.deptype = 'e')))`

const NAMED_IN_BODIES_SQL = `
WITH member AS (${membersOf('pg_proc', 'pro', true)}
   UNION${membersOf('pg_type', 'typ', false)}
), word AS (
  SELECT DISTINCT p.oid, pg_catalog.lower(found[1]) AS name, found[2] IS NOT NULL AS called
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
   CROSS JOIN LATERAL pg_catalog.regexp_matches(p.prosrc, '([a-zA-Z_][a-zA-Z0-9_]*)(\\s*\\()?', 'g') AS found
   WHERE p.pronamespace = $1::pg_catalog.oid AND p.prosqlbody IS NULL AND p.prokind <> 'a'
     AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
                      WHERE e.classid = p.tableoid AND e.objid = p.oid AND e.deptype = 'e')
     AND l.lanname NOT IN ('c', 'internal')
)
SELECT DISTINCT 'pg_proc:' || word.oid::text AS object, 'pg_extension:' || member.extension::text AS extension
  FROM word JOIN member ON member.name = word.name AND (word.called OR NOT member.called)`
