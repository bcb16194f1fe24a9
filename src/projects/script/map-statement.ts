import { asList, asTree, type Grammar, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import { type KnownNames, noBuiltInNames } from './known-names.ts'
import { applyChanges, mapNames } from './map-names.ts'
import type { NameColumn, RowColumns } from './name-columns.ts'
import type { ParsedStatement } from './parse-statement.ts'
import type { DumpTarget } from './passed-over.ts'
import { namesIn } from './schema-names.ts'

/** How the statements of a dump become those of a stage. */
export interface DumpMap extends DumpTarget {
  readonly stageSchema: string
}

/** A statement with the names of the stage. */
export interface MappedStatement {
  readonly text: string
  /** The function whose body names the schema of the dump where that stays as it is; `DO` stands for a `DO` statement. */
  readonly leavesBodyOf?: string
  /** The function whose body lost the schema before its names, and that searches whatever the session searches. */
  readonly losesSchemaOf?: string
}

/** Gives a statement the names of the stage. */
export async function mapStatement(
  grammar: Grammar,
  statement: ParsedStatement,
  { schema, stageSchema }: DumpMap,
  known: KnownNames,
): Promise<MappedStatement> {
  const text = statement.bytes.toString()
  if (!text.toLowerCase().includes(schema.toLowerCase())) return { text }
  const names = namesIn(text, schema)
  const extensionNames = await known.find(names)
  const tree = statement.trees?.[0] ?? {}
  const builtInNames = tree.CreateFunctionStmt === undefined ? noBuiltInNames : await known.findBuiltIn(names)
  const map = { schema, to: stageSchema, extensionNames, builtInNames }
  const { changes, leavesBody, losesSchema } = mapNames(grammar, statement, map)
  const mapped = changes.length === 0 ? text : applyChanges(statement.bytes, changes)
  const name = tree.DoStmt === undefined ? lastName(treeAt(tree, 'CreateFunctionStmt').funcname) : 'DO'
  return { text: mapped, ...(leavesBody && { leavesBodyOf: name }), ...(losesSchema && { losesSchemaOf: name }) }
}

const lastName = (names: unknown): string =>
  String(treeAt((asList(names).at(-1) as Tree | undefined) ?? {}, 'String').sval ?? '')

/** The columns whose values are names of objects. @param columns those that rows have. */
export function nameColumnsOf(
  { relation }: Tree,
  columns: RowColumns,
  { schema, stageSchema }: DumpMap,
  known: KnownNames,
): Promise<readonly NameColumn[]> {
  const { schemaname, relname } = asTree(relation)
  const written = schemaname === undefined ? undefined : String(schemaname)
  const table = { schema: written === schema ? stageSchema : written, name: String(relname) }
  return known.findNameColumns(table, columns)
}
