import { loadGrammar } from '../../archive/sql/grammar.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { sqlState } from '../../database/sqlstate.ts'
import { createStatements, type StructureLines } from '../structure/create-statements.ts'
import { readWholeStructure } from '../structure/read-structure.ts'
import { builtDifferences } from './compare-built.ts'
import type { StageLoader } from './stage-loader.ts'

/**
 * Whether a structure, as PostgreSQL printed it, says the same once it was built from that print. It is built in the
 * place of what is there, without rows, and everything is put back.
 *
 * @param schemaName whose whole content is `built`; it is the session's `search_path`.
 */
export async function isBuiltTheSameAgain(
  loader: StageLoader,
  schemaName: string,
  built: StructureLines,
): Promise<boolean> {
  const { before, after } = createStatements(built)
  await loader.execute('SAVEPOINT wharf_build_again')
  try {
    for (const statement of [...dropStatements(built), ...before, ...after]) await loader.execute(statement)
    const { types, sequences, tables } = await readWholeStructure(loader.query, schemaName)
    const again = { types, sequences, tables: tables.map(({ line }) => line) }
    return (await builtDifferences(await loadGrammar(), built, again)).length === 0
  } catch (error) {
    if (sqlState(error) === undefined) throw error
    return false
  } finally {
    await loader.execute('ROLLBACK TO SAVEPOINT wharf_build_again')
  }
}

const dropStatements = ({ types, sequences, tables }: StructureLines): readonly string[] => [
  ...tables.map(({ name }) => `DROP TABLE ${quoteIdentifier(name)} CASCADE`),
  // Those that belong to a table are gone with it.
  ...sequences.map(({ name }) => `DROP SEQUENCE IF EXISTS ${quoteIdentifier(name)} CASCADE`),
  ...types.map(({ content }) => `DROP TYPE IF EXISTS ${quoteIdentifier(content.name)} CASCADE`),
]
