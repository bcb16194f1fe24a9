import { loadGrammar } from '../../archive/sql/grammar.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { sqlState } from '../../database/sqlstate.ts'
import { conflict } from '../../errors.ts'
import { searchStage } from '../../projects/stage-path.ts'
import { builtDifferences } from './compare-built.ts'
import { missingObjects, missingThings } from './compare-structures.ts'
import { createStatements, type StructureLines, statementsWithoutRows } from './create-statements.ts'
import { fillViews } from './fill-views.ts'
import { isObjectLine, isSecondStep, isTypeLine, type OrderedLine } from './lines.ts'
import { dropObject } from './objects/objects.ts'
import { PREPARE_READING, type Query } from './query.ts'
import { readWholeStructure, toLines } from './read-structure.ts'

/** The session that builds, in its transaction. */
interface BuildingSession {
  readonly query: Query
  /** Where it looks for what extensions have. */
  readonly extensionSchemas?: readonly string[]
  execute(statement: string): Promise<void>
}

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
export async function assertBuilt(
  session: BuildingSession,
  schemaName: string,
  { lines, isOwn }: ToBuild,
): Promise<void> {
  const prepare = [searchStage(schemaName, session.extensionSchemas), ...PREPARE_READING]
  for (const statement of prepare) await session.execute(statement)
  const structure = await readWholeStructure(session.query, schemaName)
  const built = toLines(structure)
  const differences = await builtDifferences(await loadGrammar(), lines, built)
  const reworded = differences.filter(({ inExpressions }) => inExpressions)
  const mayBeReworded = reworded.length === 0 || isOwn || (await isBuiltTheSameAgain(session, schemaName, built))
  const faults = [
    ...[...missingThings(lines, built), ...missingObjects(lines, built)].map((thing) => `${thing} was not made`),
    ...[...missingThings(built, lines), ...missingObjects(built, lines)].map(
      (thing) => `${thing} was made, without a line that says so`,
    ),
    ...differences.filter(({ inExpressions }) => !(inExpressions && mayBeReworded)).map(({ detail }) => detail),
    ...structure.notExported
      // A login's default privileges grant something on every table that it makes.
      .filter(({ kind }) => kind !== 'grant')
      .map(({ kind, name, detail = '' }) => `${kind} "${name}" is more than lines may describe ${detail}`.trimEnd()),
  ].map((detail) => ({ detail }))
  const [first] = faults
  if (first) throw conflict(`nothing was changed: the structure is not what its lines say: ${first.detail}`, faults)
}

/**
 * Whether a structure, as PostgreSQL printed it, says the same once it was built from that print. It is built in the
 * place of what is there, without rows, and everything is put back.
 *
 * @param schemaName whose whole content is `built`; it is the session's `search_path`.
 */
async function isBuiltTheSameAgain(
  session: BuildingSession,
  schemaName: string,
  built: StructureLines,
): Promise<boolean> {
  const statements = createStatements(built)
  await session.execute('SAVEPOINT wharf_build_again')
  try {
    const building = [...dropStatements(built), ...statementsWithoutRows(statements)]
    for (const statement of building) await session.execute(statement)
    await fillViews(session, statements.filled)
    for (const statement of statements.last) await session.execute(statement)
    const again = toLines(await readWholeStructure(session.query, schemaName))
    return (await builtDifferences(await loadGrammar(), built, again)).length === 0
  } catch (error) {
    if (sqlState(error) === undefined) throw error
    return false
  } finally {
    await session.execute('ROLLBACK TO SAVEPOINT wharf_build_again')
  }
}

const dropStatements = ({ sequences, inOrder }: StructureLines): readonly string[] => [
  // What needs one of these goes with it: nothing is said of what is gone.
  ...inOrder.toReversed().flatMap(dropStatement),
  ...sequences.map(({ name }) => `DROP SEQUENCE IF EXISTS ${quoteIdentifier(name)} CASCADE`),
]

function dropStatement(line: OrderedLine): readonly string[] {
  if (isSecondStep(line)) return []
  if (isObjectLine(line)) return [dropObject(line)]
  return [`DROP ${isTypeLine(line) ? 'TYPE' : 'TABLE'} IF EXISTS ${quoteIdentifier(line.content.name)} CASCADE`]
}
