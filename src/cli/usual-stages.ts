/** The schema that is meant where none is named, and the stage that a single one is. */
const USUAL_SCHEMA = 'public'
const USUAL_STAGE = 'live'

export interface NamedStage {
  readonly slug: string
  readonly schema: string
}

/**
 * Which stages the schemas of a database are where nobody names them: a single one is `live`, whatever it is called, and
 * several are called as their schemas are, which need not be slugs.
 */
export function usualStages(named: readonly string[]): readonly NamedStage[] {
  const schemas = named.length === 0 ? [USUAL_SCHEMA] : named
  return schemas.map((schema) => ({ slug: schemas.length === 1 ? USUAL_STAGE : schema, schema }))
}
