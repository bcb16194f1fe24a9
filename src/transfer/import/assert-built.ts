import { quoteIdentifier } from '../../database/quoting.ts'
import { conflict } from '../../errors.ts'
import type { StructureLines } from '../structure/create-statements.ts'
import { readStructure } from '../structure/read-structure.ts'
import { missingThings } from './compare-structures.ts'
import type { StageLoader } from './stage-loader.ts'

/**
 * Holds what was built against what was to be built.
 *
 * Lines hold SQL, and a type or a check can say more than it should: inherit from a table of another stage, refer to
 * it, call what is not PostgreSQL's own. All that shows in the catalogs, and nothing of it outlives the transaction.
 *
 * @throws {AppError} CONFLICT with everything that is there and should not be, or the other way round.
 */
export async function assertBuilt(loader: StageLoader, schemaName: string, lines: StructureLines): Promise<void> {
  await loader.execute(`SET LOCAL search_path = ${quoteIdentifier(schemaName)}`)
  const { types, sequences, tables, notExported } = await readStructure(
    (sql, parameters) => loader.query(sql, parameters),
    schemaName,
  )
  const built = { types, sequences, tables: tables.map(({ line }) => line) }
  const faults = [
    ...missingThings(lines, built).map((thing) => `${thing} was not made`),
    ...missingThings(built, lines).map((thing) => `${thing} was made, without a line that says so`),
    ...notExported
      // A login's default privileges grant something on every table that it makes.
      .filter(({ kind }) => kind !== 'grant')
      .map(({ kind, name, detail = '' }) => `${kind} "${name}" is more than lines may describe ${detail}`.trimEnd()),
  ].map((detail) => ({ detail }))
  const [first] = faults
  if (first) throw conflict(`nothing was changed: the structure is not what its lines say: ${first.detail}`, faults)
}
