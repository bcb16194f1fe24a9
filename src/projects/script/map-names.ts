import type { Grammar } from '../../archive/sql/grammar.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { bodyPath } from './body-path.ts'
import { bodyOf, type FunctionBody } from './function-body.ts'
import { wouldBeHidden } from './hiding-names.ts'
import type { Change, NameMap } from './name-map.ts'
import { objectNames } from './object-names.ts'
import { nodesOf, type ParsedStatement, parseStatement } from './parse-statement.ts'
import { plpgsqlNames } from './plpgsql-names.ts'
import { qualifiers } from './qualifiers.ts'
import { asksForSchema, namesSchema } from './schema-names.ts'
import type { Token } from './tokens.ts'

/** What becomes of a statement that names the schema of a dump. */
interface MappedNames {
  readonly changes: readonly Change[]
  /** Whether a body names the schema where that stays as it is. */
  readonly leavesBody: boolean
  /** Whether a function's body lost the schema, and no search path was given to the function instead. */
  readonly losesSchema: boolean
}

/**
 * Finds where a statement names the schema of a dump: before the name of a table, a type, a function or anything else; in
 * strings that are the name of an object (`nextval('public.s'::regclass)`); in a search path; in the body of a function
 * in SQL or PL/pgSQL.
 *
 * What is written the same and is no schema (a table or a column of that name, a string with that text) stays.
 *
 * @returns what to change.
 */
export function mapNames(grammar: Grammar, statement: ParsedStatement, map: NameMap): MappedNames {
  const { trees } = statement
  if (!trees) return { changes: [], leavesBody: false, losesSchema: false }
  const nodes = [...nodesOf(trees)]
  const changes = [...qualifiers(grammar, statement, nodes, map), ...objectNames(statement, nodes, map)]
  const body = bodyOf(statement, nodes)
  if (body === undefined) return { changes, leavesBody: false, losesSchema: false }
  const asks = asksForSchema(body.text, map.schema)
  if (!namesSchema(body.text, map.schema)) return { changes, leavesBody: asks, losesSchema: false }
  // A block is run here and now; a function is to work in any stage.
  const mapped = mapBody(grammar, body, body.isBlock ? map : { ...map, to: undefined })
  const leavesBody = mapped.leavesSome || asks
  if (mapped.changes.length === 0) return { changes, leavesBody, losesSchema: false }
  const { start, end } = body.token
  const losesSchema = !body.isBlock && mapped.changes.some((change) => !isOfExtension(change, map))
  const path = losesSchema ? bodyPath(statement, nodes, body, map) : []
  const text = body.quote(applyChanges(mapped.bytes, mapped.changes))
  return {
    changes: [...changes, ...path, { start, end, text }],
    leavesBody,
    losesSchema: losesSchema && path.length === 0,
  }
}

/** Makes the changes. */
export function applyChanges(bytes: Buffer, changes: readonly Change[]): string {
  let at = 0
  const pieces: Buffer[] = []
  for (const { start, end, text } of changes.toSorted((a, b) => a.start - b.start)) {
    pieces.push(bytes.subarray(at, start), Buffer.from(text))
    at = end
  }
  return Buffer.concat([...pieces, bytes.subarray(at)]).toString()
}

/** Whether a change gives a name the schema of an extension. */
const isOfExtension = ({ text }: Change, { extensionNames }: NameMap): boolean =>
  [...(extensionNames?.values() ?? [])]
    .map(quoteIdentifier)
    .some((schema) => text === schema || text.startsWith(`'${schema}.`))

interface MappedBody {
  readonly bytes: Buffer
  readonly changes: readonly Change[]
  /** Whether the schema is named where it stays. */
  readonly leavesSome: boolean
}

function mapBody(grammar: Grammar, body: FunctionBody, map: NameMap): MappedBody {
  if (body.language === 'plpgsql') return plpgsqlNames(grammar, body, map)
  const parsed = parseStatement(grammar, body.text)
  const { bytes, trees } = parsed
  if (body.language !== 'sql' || !trees) return { bytes, changes: [], leavesSome: true }
  const { changes } = mapNames(grammar, parsed, map)
  return isHiding(parsed, changes, map)
    ? { bytes, changes: [], leavesSome: true }
    : { bytes, changes, leavesSome: false }
}

function isHiding(parsed: ParsedStatement, changes: readonly Change[], map: NameMap): boolean {
  const starts = new Set(changes.map(({ start }) => start))
  const isQualifier = ({ kind, start }: Token): boolean => kind !== 'string' && starts.has(start)
  const indexes = parsed.tokens.flatMap((token, index) => (isQualifier(token) ? [index] : []))
  return wouldBeHidden(parsed, indexes, map)
}
