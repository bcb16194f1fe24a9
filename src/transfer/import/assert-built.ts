import { loadGrammar } from '../../archive/sql/grammar.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { conflict } from '../../errors.ts'
import type { StructureLines } from '../structure/create-statements.ts'
import { readWholeStructure } from '../structure/read-structure.ts'
import { isBuiltTheSameAgain } from './build-again.ts'
import { builtDifferences } from './compare-built.ts'
import { missingThings } from './compare-structures.ts'
import type { StageLoader } from './stage-loader.ts'

interface ToBuild {
  readonly lines: StructureLines
  /** Whether the lines are the stage's own, and no file's. */
  readonly isOwn: boolean
}

/**
 * Holds what was built against what was to be built, whole: every property of every thing that lines describe, and that
 * there is nothing else.
 *
 * Lines hold SQL, and although it was parsed, only the catalogs tell what became of it. Nothing of it outlives the
 * transaction.
 *
 * PostgreSQL may print an expression in words that `compareDefinitions` does not know. It has read the line's own text,
 * as one clause of one thing, so what it built is what that text says; and its words are nothing but other words if what
 * is built from them says the same. So an expression may differ where that is so, or where it is the stage's own;
 * nothing else may.
 *
 * @throws {AppError} CONFLICT with everything that is there and should not be, or the other way round, or is not what
 *   its line says.
 */
export async function assertBuilt(loader: StageLoader, schemaName: string, { lines, isOwn }: ToBuild): Promise<void> {
  await loader.execute(`SET LOCAL search_path = ${quoteIdentifier(schemaName)}`)
  const { types, sequences, tables, notExported } = await readWholeStructure(loader.query, schemaName)
  const built = { types, sequences, tables: tables.map(({ line }) => line) }
  const differences = await builtDifferences(await loadGrammar(), lines, built)
  const reworded = differences.filter(({ inExpressions }) => inExpressions)
  const mayBeReworded = reworded.length === 0 || isOwn || (await isBuiltTheSameAgain(loader, schemaName, built))
  const faults = [
    ...missingThings(lines, built).map((thing) => `${thing} was not made`),
    ...missingThings(built, lines).map((thing) => `${thing} was made, without a line that says so`),
    ...differences.filter(({ inExpressions }) => !(inExpressions && mayBeReworded)).map(({ detail }) => detail),
    ...notExported
      // A login's default privileges grant something on every table that it makes.
      .filter(({ kind }) => kind !== 'grant')
      .map(({ kind, name, detail = '' }) => `${kind} "${name}" is more than lines may describe ${detail}`.trimEnd()),
  ].map((detail) => ({ detail }))
  const [first] = faults
  if (first) throw conflict(`nothing was changed: the structure is not what its lines say: ${first.detail}`, faults)
}
