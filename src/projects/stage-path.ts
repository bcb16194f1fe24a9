import { EXTENSIONS_SCHEMA } from '../contract/extensions-schema.ts'
import { quoteIdentifier } from '../database/quoting.ts'

/** Where sessions look for what extensions have, in a database of Wharf's. */
const OWN_EXTENSIONS: readonly string[] = [EXTENSIONS_SCHEMA]

/**
 * Where a session of a project's login looks names up: in its stage, and behind that in what extensions have. PostgreSQL
 * looks into `pg_catalog` before both, and makes new things in the first. A schema that is not there, or that the login
 * may not use, is passed over.
 *
 * Never for Wharf's own login: it would find what a project has made.
 *
 * @param extensionSchemas of the database.
 */
export const stagePath = (schemaName: string, extensionSchemas = OWN_EXTENSIONS): string =>
  [schemaName, ...extensionSchemas].map(quoteIdentifier).join(', ')

/** The statement that gives the transaction this path. */
export const searchStage = (schemaName: string, extensionSchemas = OWN_EXTENSIONS): string =>
  `SET LOCAL search_path = ${stagePath(schemaName, extensionSchemas)}`
