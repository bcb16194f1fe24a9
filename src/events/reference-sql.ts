import { quoteIdentifier, quoteLiteral } from '../database/quoting.ts'

/** How the stage stood at the very moment whose rows a statement shows. */
export interface SeenVersion {
  readonly reference: string
  readonly generation: string
  /** Whether the schema in which the statement's tables were found was the stage's own at that moment. */
  readonly in_place: boolean
}

/**
 * What a read selects beside the rows.
 *
 * PostgreSQL finds a statement's tables by name when it parses it, and takes the statement's snapshot later. A swap in
 * between leaves the old rows beside the new reference. So the schema that parsing finds under the stage's name (a constant, once parsed) is held
 * against the one that has the name in the snapshot.
 */
export const referenceSql = (stageId: string, schemaName: string) => ({
  select: 'version.reference, version.generation::text, version.in_place',
  from: `(SELECT stage_reference.reference, stage_reference.generation,
                 ${quoteLiteral(quoteIdentifier(schemaName))}::pg_catalog.regnamespace::pg_catalog.oid
                   OPERATOR(pg_catalog.=) (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $2) AS in_place
          FROM wharf.stage_reference($1) AS stage_reference) AS version`,
  values: [stageId, schemaName],
})
