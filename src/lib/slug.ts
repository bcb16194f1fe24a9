/** A project's or a stage's name: part of URLs, of file names and of PostgreSQL schema names. */
export const SLUG_PATTERN = /^[a-z][a-z0-9_-]{0,62}$/
