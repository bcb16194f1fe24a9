/**
 * Where extensions are on every server: each project may use what they have, and none may make anything there. Names
 * without a schema are looked up there behind those of a stage.
 */
export const EXTENSIONS_SCHEMA = 'extensions'
