import { quoteIdentifier, quoteLiteral } from '../../../database/quoting.ts'

/** Stands for the stage's own schema, which has another name in every stage. */
const STAGE = '$stage'

/** The schemas of a `search_path`, as the catalogs keep it: separated by commas, in quotes where they need them. */
const schemasOf = (searchPath: string): readonly string[] =>
  [...searchPath.matchAll(/"((?:[^"]|"")*)"|[^,\s]+/g)].map(([name, quoted]) => quoted?.replaceAll('""', '"') ?? name)

/**
 * Takes the `SET search_path` out of a function's definition where it names the stage's own schema, which has another name
 * where the function is made again.
 *
 * @param searchPath what the function sets it to; null where it does not.
 * @param schema that of the stage.
 */
export function withoutStagePath(
  definition: string,
  searchPath: string | null,
  schema: string,
): { readonly definition: string; readonly searchPath?: string[] } {
  const schemas = schemasOf(searchPath ?? '')
  if (!schemas.includes(schema)) return { definition }
  // As `pg_get_functiondef` prints it.
  const clause = `\n SET search_path TO ${schemas.map(quoteLiteral).join(', ')}\n`
  const at = definition.indexOf(clause)
  if (at < 0) return { definition }
  return {
    definition: `${definition.slice(0, at)}\n${definition.slice(at + clause.length)}`,
    searchPath: schemas.map((each) => (each === schema ? STAGE : each)),
  }
}

/**
 * The statements that give a function its `search_path` while its stage is being built. The session's own begins with the
 * schema that the stage is built in, and is the same afterwards.
 *
 * @param routine as `ROUTINE "name"(types)`.
 */
export function setBuildingPath(routine: string, searchPath: readonly string[] | undefined): readonly string[] {
  if (!searchPath) return []
  const path = searchPath
    .map((each) => (each === STAGE ? BUILT_IN : quoteLiteral(quoteIdentifier(each))))
    .join(` || ', ' || `)
  return [
    `SELECT pg_catalog.set_config('wharf.path', pg_catalog.current_setting('search_path'), true),
            pg_catalog.set_config('wharf.schema', pg_catalog.quote_ident(pg_catalog.current_schema()), true)`,
    `SELECT pg_catalog.set_config('search_path', ${path}, true)`,
    `ALTER ${routine} SET search_path FROM CURRENT`,
    `SELECT pg_catalog.set_config('search_path', ${KEPT}, true)`,
  ]
}

const KEPT = `pg_catalog.current_setting('wharf.path')`
const BUILT_IN = `pg_catalog.current_setting('wharf.schema')`

/** The statement that gives it the `search_path` that it has from the moment at which the stage is there. */
export const setStagePath = (
  routine: string,
  searchPath: readonly string[] | undefined,
  schema: string,
): readonly string[] =>
  searchPath
    ? [
        `ALTER ${routine} SET search_path = ${searchPath.map((each) => quoteIdentifier(each === STAGE ? schema : each)).join(', ')}`,
      ]
    : []
