import { loadGrammar, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { type KnownNames, noKnownNames } from './known-names.ts'
import { type DumpMap, type MappedStatement, mapStatement, nameColumnsOf } from './map-statement.ts'
import { mapCopiedNames } from './object-values.ts'
import { parseStatement, textsOf } from './parse-statement.ts'
import { passedOverAs } from './passed-over.ts'
import { createInsertPreparation } from './prepare-insert.ts'
import { refusedInDump } from './refused-in-dump.ts'

/** A statement as it is run. */
export interface PreparedStatement extends MappedStatement {
  /** The table of `COPY … FROM stdin`, whose rows come next. */
  readonly copiesInto?: string
  /** Whether the COPY says itself how its rows are written. */
  readonly hasOptions?: boolean
  /** Gives the rows behind a COPY the names of the stage; undefined leaves them as they are. */
  readonly mapRows?: (rows: AsyncIterable<BorrowedBytes>) => AsyncIterable<BorrowedBytes>
  /** What it is, where it is not to be run. */
  readonly passedOver?: string
  /** The extension that it makes. */
  readonly extension?: string
  /** Why no stage can run it. */
  readonly refused?: string
}

/** Prepares statements one by one. @param dump gives how, for those of a dump; undefined leaves them as they are. */
export function createPreparation(
  dump: () => DumpMap | undefined,
  known: KnownNames = noKnownNames,
): (text: string) => Promise<PreparedStatement> {
  const inserts = createInsertPreparation(known)
  return async (text) => {
    const map = dump()
    const isCopy = /^copy\b/i.test(text)
    const isInsert = /^insert\b/i.test(text)
    // Anything else may change the table that the last INSERT was into.
    if (!isInsert) inserts.forget()
    if (!map && !isCopy && !/^create\s+extension\b/i.test(text)) return { text }
    const insert = map && isInsert ? await inserts.prepare(text, map) : undefined
    if (insert !== undefined) return { text: insert }
    const grammar = await loadGrammar()
    const statement = parseStatement(grammar, text)
    const { trees } = statement
    const tree = trees?.length === 1 ? trees[0] : undefined
    const copy = isCopy && tree ? copyOf(tree) : {}
    const extension = treeAt(tree ?? {}, 'CreateExtensionStmt').extname
    if (typeof extension === 'string' && extension !== 'plpgsql') return { text, extension }
    if (!map || !tree) return { text, ...copy }
    const passedOver = passedOverAs(tree, map)
    if (passedOver !== undefined) return { text, passedOver }
    const refused = refusedInDump(tree, map.schema)
    if (refused !== undefined) return { text, refused }
    const prepared = { ...(await mapStatement(grammar, statement, map, known)), ...copy }
    if (copy.copiesInto === undefined || copy.hasOptions) return prepared
    const node = treeAt(tree, 'CopyStmt')
    const names = textsOf(node.attlist).map(String)
    const columns = await nameColumnsOf(node, names.length > 0 ? names : 'all but generated', map, known)
    if (columns.length === 0) return prepared
    const { schema, stageSchema } = map
    const rowMap = { schema, to: stageSchema, extensionNames: await known.findAll() }
    return { ...prepared, mapRows: (rows) => mapCopiedNames(rows, columns, rowMap) }
  }
}

/** @param tree of one statement, so that no other can follow on it in the same message. */
function copyOf(tree: Tree): Pick<PreparedStatement, 'copiesInto' | 'hasOptions'> {
  const { is_from: isFrom, filename, is_program: isProgram, relation, options, whereClause } = treeAt(tree, 'CopyStmt')
  if (!isFrom || filename !== undefined || isProgram) return {}
  const { relname } = relation as Tree
  return { copiesInto: String(relname), hasOptions: options !== undefined || whereClause !== undefined }
}
