/**
 * Where extensions are on every server: each project may use what they have, and none may make anything there. Names
 * without a schema are looked up there behind those of a stage.
 */
export const EXTENSIONS_SCHEMA = 'extensions'

/** The schemas behind that of a stage in which names without a schema are found. */
export const SEARCHED_SCHEMAS = [EXTENSIONS_SCHEMA, 'pg_catalog'] as const
