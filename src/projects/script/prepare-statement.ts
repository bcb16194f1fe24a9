import { asList, type Grammar, loadGrammar, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import { type KnownNames, noKnownNames } from './extension-names.ts'
import { applyChanges, mapNames } from './map-names.ts'
import { type ParsedStatement, parseStatement } from './parse-statement.ts'
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
  /** What it is, where it is not to be run. */
  readonly passedOver?: string
  /** The extension that it makes. */
  readonly extension?: string
  /** Why no stage can run it. */
  readonly refused?: string
  /** The function whose body names the schema of the dump where that stays as it is; `DO` for a block. */
  readonly leavesBodyOf?: string
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
    const mapped = await mapText(grammar, parseStatement(grammar, `${head} (NULL)`), map, known)
    return mapped.text.slice(0, -' (NULL)'.length)
  })
  return async (text) => {
    const map = dump()
    const isCopy = /^copy\b/i.test(text)
    if (!map && !isCopy && !/^create\s+extension\b/i.test(text)) return { text }
    const insert = map && /^insert\b/i.test(text) ? splitInsert(text) : undefined
    if (map && insert) return { text: (await mapHead(insert.head, map)) + insert.rows }
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
    return { ...(await mapText(grammar, statement, map, known)), ...copy }
  }
}

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
  const builtInNames = tree.CreateFunctionStmt === undefined ? new Set<string>() : await known.findBuiltIn(names)
  const map = { schema, to: stageSchema, extensionNames, builtInNames }
  const { changes, leavesBody } = mapNames(grammar, statement, map)
  const mapped = changes.length === 0 ? text : applyChanges(statement.bytes, changes)
  if (!leavesBody) return { text: mapped }
  const leavesBodyOf = tree.DoStmt === undefined ? lastName(treeAt(tree, 'CreateFunctionStmt').funcname) : 'DO'
  return { text: mapped, leavesBodyOf }
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

/** Calls a function again only for other arguments than the last ones. */
function rememberLast(use: (head: string, map: DumpMap) => Promise<string>) {
  let last: { readonly head: string; readonly map: DumpMap; readonly answer: Promise<string> } | undefined
  return (head: string, map: DumpMap): Promise<string> => {
    if (last?.head !== head || last.map !== map) last = { head, map, answer: use(head, map) }
    return last.answer
  }
}
