import { notFound } from '../errors.ts'
import type { Source } from './consistent-read.ts'
import { type CatalogTable, findTable, POSTGREST, type StageCatalog } from './query/index.ts'
import type { ReadingServices } from './read-rows.ts'

/** What a path below a stage leads to. */
export type Addressed = { readonly table: string } | { readonly function: string }

/**
 * The methods that a table, a view or a function takes, as PostgREST writes them in `Allow`.
 *
 * @throws {AppError} NOT_FOUND
 */
export function readAllowedMethods(
  { pool, stage, version, extensionSchemas }: Omit<Source, 'toSeen'>,
  addressed: Addressed,
  { catalogs, limits: { timeoutMs } }: ReadingServices,
): Promise<string> {
  const { id: stageId, schemaName } = stage
  const at = { pool, stageId, schemaName, extensionSchemas, structure: version.structure, timeoutMs }
  return catalogs.plan(at, (catalog) => {
    const methods =
      'table' in addressed
        ? methodsOfTable(findTable(catalog, addressed.table))
        : methodsOfFunction(catalog, addressed.function)
    return ['OPTIONS', ...methods].join(',')
  })
}

function methodsOfTable({ writable, primaryKey }: CatalogTable): readonly string[] {
  const takesPut = writable.has('insert') && writable.has('update') && primaryKey.length > 0
  return [
    'GET',
    'HEAD',
    ...(writable.has('insert') ? ['POST'] : []),
    ...(takesPut ? ['PUT'] : []),
    ...(writable.has('update') ? ['PATCH'] : []),
    ...(writable.has('delete') ? ['DELETE'] : []),
  ]
}

/** `GET` calls a volatile function, too, but only to no effect. */
function methodsOfFunction({ functions }: StageCatalog, name: string): readonly string[] {
  const called = functions.get(name)
  if (!called)
    throw notFound('function', name.slice(0, 200), 'in this stage', { postgrestCode: POSTGREST.unknownFunction })
  return called.some(({ volatility }) => volatility !== 'volatile') ? ['GET', 'HEAD', 'POST'] : ['POST']
}
