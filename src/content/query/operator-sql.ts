import type { CatalogType } from './catalog.ts'

/** What decides which operators values have. */
type OfType = Pick<CatalogType, 'kind' | 'category' | 'builtIn'>

/**
 * Whether all operators of a type are PostgreSQL's own: of those that it brings, and of all that is made of others, such as
 * enums, ranges and arrays. An extension brings operators with its types.
 */
export const hasOwnOperators = ({ kind, category, builtIn }: OfType): boolean =>
  builtIn !== null || kind !== 'b' || category === 'A'

/**
 * An operator between values of these types. The `search_path` has a say only where an extension may have brought it: the owner of its schema
 * could put an operator in the place of PostgreSQL's own (`src/database/catalog-oids.ts`). An extension's
 * own for arrays, as intarray has them, refuse what PostgreSQL's take, and no project has asked for them but the one that
 * had it made.
 */
export const operatorSql = (operator: string, ...types: readonly OfType[]): string =>
  types.every(hasOwnOperators) ? `OPERATOR(pg_catalog.${operator})` : operator
