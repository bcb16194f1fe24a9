import { EXTENSIONS_SCHEMA } from '../contract/extensions-schema.ts'
import { quoteIdentifier } from '../database/quoting.ts'

/**
 * Where a session of a project's login looks names up: in its stage, and behind that in what extensions have. PostgreSQL
 * looks into `pg_catalog` before both, and makes new things in the first. A schema that is not there, or that the login
 * may not use, is passed over.
 *
 * Never for Wharf's own login: it would find what a project has made.
 */
export const stagePath = (schemaName: string): string => [schemaName, EXTENSIONS_SCHEMA].map(quoteIdentifier).join(', ')

/** The statement that gives the transaction this path. */
export const searchStage = (schemaName: string): string => `SET LOCAL search_path = ${stagePath(schemaName)}`
