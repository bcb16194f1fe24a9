import { asList, asTree, type Grammar, loadGrammar, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { type KnownNames, noBuiltInNames, noKnownNames } from './extension-names.ts'
import { applyChanges, mapNames } from './map-names.ts'
import type { NameColumn, RowColumns } from './name-columns.ts'
import { type MapFor, mapCopiedNames, mapInsertedNames } from './object-values.ts'
import { type ParsedStatement, parseStatement, textsOf } from './parse-statement.ts'
import { type DumpTarget, passedOverAs } from './passed-over.ts'
import { refusedInDump } from './refused-in-dump.ts'
import { namesIn } from './schema-names.ts'
import { type Token, tokensOf } from './tokens.ts'

/** A statement as it is run. */
export interface PreparedStatement {
  readonly text: string
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
  /** The function whose body names the schema of the dump where that stays as it is; `DO` for a block. */
  readonly leavesBodyOf?: string
  /** The function whose body lost the schema before its names, and that searches whatever the session searches. */
  readonly losesSchemaOf?: string
}

/** How the statements of a dump become those of a stage. */
export interface DumpMap extends DumpTarget {
  readonly stageSchema: string
}

/** Prepares statements one by one. @param dump gives how, for those of a dump; undefined leaves them as they are. */
export function createPreparation(
  dump: () => DumpMap | undefined,
  known: KnownNames = noKnownNames,
): (text: string) => Promise<PreparedStatement> {
  const mapHead = rememberLast(async (head: string, map: DumpMap) => {
    const grammar = await loadGrammar()
    const statement = parseStatement(grammar, `${head} (NULL)`)
    const mapped = await mapText(grammar, statement, map, known)
    const insert = treeAt(statement.trees?.[0] ?? {}, 'InsertStmt')
    const names = namesOf(insert.cols)
    const nameColumns = await nameColumnsOf(insert, names.length > 0 ? names : 'all', map, known)
    return { text: mapped.text.slice(0, -' (NULL)'.length), nameColumns }
  })
  return async (text) => {
    const map = dump()
    const isCopy = /^copy\b/i.test(text)
    // Anything else may change the table that the last INSERT was into.
    if (!/^insert\b/i.test(text)) mapHead.forget()
    if (!map && !isCopy && !/^create\s+extension\b/i.test(text)) return { text }
    const insert = map && /^insert\b/i.test(text) ? splitInsert(text) : undefined
    if (map && insert) {
      const { text: head, nameColumns } = await mapHead.answer(insert.head, map)
      const mapFor = mapForNames(map, known)
      const isMapped = nameColumns.length > 0
      return { text: head + (isMapped ? await mapInsertedNames(insert.rows, nameColumns, mapFor) : insert.rows) }
    }
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
    const prepared = { ...(await mapText(grammar, statement, map, known)), ...copy }
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

/** The columns whose values are names of objects. @param columns those that rows have. */
function nameColumnsOf(
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

const namesOf = (targets: unknown): readonly string[] =>
  asList(targets).map((target) => String(treeAt(asTree(target), 'ResTarget').name))

const mapForNames =
  ({ schema, stageSchema }: DumpMap, known: KnownNames): MapFor =>
  async (text) => ({ schema, to: stageSchema, extensionNames: await known.find(namesIn(text, schema)) })

async function mapText(
  grammar: Grammar,
  statement: ParsedStatement,
  { schema, stageSchema }: DumpMap,
  known: KnownNames,
): Promise<PreparedStatement> {
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

/** @param tree of one statement, so that no other can follow on it in the same message. */
function copyOf(tree: Tree): Pick<PreparedStatement, 'copiesInto' | 'hasOptions'> {
  const { is_from: isFrom, filename, is_program: isProgram, relation, options, whereClause } = treeAt(tree, 'CopyStmt')
  if (!isFrom || filename !== undefined || isProgram) return {}
  const { relname } = relation as Tree
  return { copiesInto: String(relname), hasOptions: options !== undefined || whereClause !== undefined }
}

/** The part of an INSERT up to VALUES, where constants alone follow: there can be a megabyte of them. */
function splitInsert(text: string): { readonly head: string; readonly rows: string } | undefined {
  const bytes = Buffer.from(text)
  const tokens = tokensOf(bytes)
  const values = tokens.findIndex((token) => token.kind === 'word' && /^values$/i.test(textOf(bytes, token)))
  const end = tokens[values]?.end
  if (end === undefined || end > MAX_HEAD_BYTES) return undefined
  const areConstants = tokens.slice(values + 1).every((token) => {
    if (token.kind === 'word') return CONSTANT.test(textOf(bytes, token))
    return token.kind === 'other' ? SIGN.test(textOf(bytes, token)) : token.kind !== 'comment' && token.kind !== 'name'
  })
  return areConstants ? { head: bytes.toString('utf8', 0, end), rows: bytes.toString('utf8', end) } : undefined
}

const MAX_HEAD_BYTES = 64 * 1024
const CONSTANT = /^(?:null|true|false|default)$/i
const SIGN = /^[-+,]$/

const textOf = (bytes: Buffer, { start, end }: Token): string => bytes.toString('utf8', start, end)

/** Calls a function again only for other arguments than the last ones, or when it is told to. */
function rememberLast<Answer>(use: (head: string, map: DumpMap) => Promise<Answer>) {
  let last: { readonly head: string; readonly map: DumpMap; readonly answer: Promise<Answer> } | undefined
  const answer = (head: string, map: DumpMap): Promise<Answer> => {
    if (last?.head !== head || last.map !== map) last = { head, map, answer: use(head, map) }
    return last.answer
  }
  return {
    answer,
    forget() {
      last = undefined
    },
  }
}
