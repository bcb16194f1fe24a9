import { createHash } from 'node:crypto'

/** Longest schema name that leaves room, within PostgreSQL's 63 bytes, for the suffix of a schema beside it. */
const MAX_SCHEMA_NAME_BYTES = 48

/**
 * The PostgreSQL schema of a stage: `<project>.<stage>`, which nothing else can be called, since slugs have no dots.
 * A name that would be too long is cut and ends in a part of its hash.
 */
export function stageSchemaName(projectSlug: string, stageSlug: string): string {
  const name = `${projectSlug}.${stageSlug}`
  if (name.length <= MAX_SCHEMA_NAME_BYTES) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.slice(0, MAX_SCHEMA_NAME_BYTES - hash.length - 1)}~${hash}`
}
