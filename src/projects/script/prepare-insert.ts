import { asList, asTree, loadGrammar, treeAt } from '../../archive/sql/grammar.ts'
import type { KnownNames } from './known-names.ts'
import { type DumpMap, mapStatement, nameColumnsOf } from './map-statement.ts'
import { type MapFor, mapInsertedNames } from './object-values.ts'
import { parseStatement } from './parse-statement.ts'
import { namesIn } from './schema-names.ts'
import { type Token, tokensOf } from './tokens.ts'

/** Gives INSERTs the names of the stage. */
export interface InsertPreparation {
  /** @returns undefined where anything but constants follows VALUES. */
  prepare(text: string, map: DumpMap): Promise<string | undefined>
  /** To be called where a table may have changed. */
  forget(): void
}

/**
 * INSERTs of a dump follow on each other: what comes before VALUES is parsed once for all that have it in common, and the
 * constants behind it are not parsed.
 */
export function createInsertPreparation(known: KnownNames): InsertPreparation {
  const mapHead = rememberLast(async (head: string, map: DumpMap) => {
    const grammar = await loadGrammar()
    const statement = parseStatement(grammar, `${head} (NULL)`)
    const mapped = await mapStatement(grammar, statement, map, known)
    const insert = treeAt(statement.trees?.[0] ?? {}, 'InsertStmt')
    const names = namesOf(insert.cols)
    const nameColumns = await nameColumnsOf(insert, names.length > 0 ? names : 'all', map, known)
    return { text: mapped.text.slice(0, -' (NULL)'.length), nameColumns }
  })
  return {
    async prepare(text, map) {
      const insert = splitInsert(text)
      if (!insert) return undefined
      const { text: head, nameColumns } = await mapHead.answer(insert.head, map)
      const isMapped = nameColumns.length > 0
      return head + (isMapped ? await mapInsertedNames(insert.rows, nameColumns, mapForNames(map, known)) : insert.rows)
    },
    forget: mapHead.forget,
  }
}

const namesOf = (targets: unknown): readonly string[] =>
  asList(targets).map((target) => String(treeAt(asTree(target), 'ResTarget').name))

const mapForNames =
  ({ schema, stageSchema }: DumpMap, known: KnownNames): MapFor =>
  async (text) => ({ schema, to: stageSchema, extensionNames: await known.find(namesIn(text, schema)) })

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
