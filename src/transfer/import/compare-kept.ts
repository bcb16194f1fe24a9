import type { ProjectDatabase } from '../../projects/stage-database.ts'
import { countSchemaRows } from './count-rows.ts'

export interface ComparedTable {
  readonly name: string
  /** null where the stage does not have the table. */
  readonly rowsNow: number | null
  /** null where the table would be gone. */
  readonly rowsAfter: number | null
}

/**
 * Compares the rows of a stage with those that an undo would bring, table by table.
 *
 * @param database the stage's, as the project's own login sees it.
 * @throws {AppError} CONFLICT where they cannot be counted.
 */
export async function compareKept(
  database: ProjectDatabase,
  { schemaName, kept }: { readonly schemaName: string; readonly kept: string },
): Promise<readonly ComparedTable[]> {
  const countsOf = async (schema: string): Promise<ReadonlyMap<string, number>> =>
    new Map((await countSchemaRows(database, schema)).map(({ name, rows }) => [name, rows]))
  const now = await countsOf(schemaName)
  const after = await countsOf(kept)
  const names = [...new Set([...now.keys(), ...after.keys()])].toSorted()
  return names.map((name) => ({ name, rowsNow: now.get(name) ?? null, rowsAfter: after.get(name) ?? null }))
}
