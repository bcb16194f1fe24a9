import type pg from 'pg'
import { copyInto } from '../../copy/copy-into.ts'
import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { rejected } from '../sql-rejected.ts'
import { createDumpState } from './dump-state.ts'
import { createPassedOver, type PassedOver } from './passed-over-list.ts'
import { createPreparation, type PreparedStatement } from './prepare-statement.ts'
import { readScript, type Statement } from './read-script.ts'
import { createRefreshPaths } from './refresh-paths.ts'
import { asBlock, failedLine, failedRowLine, type LocatedStatement, lineBehind } from './run-statements.ts'
import { type EnsureExtension, openExtensions } from './script-extensions.ts'
import { createScriptText } from './script-text.ts'

export interface ScriptOptions {
  /** The schema of the script that means the stage; undefined makes that `public` in a dump, and none elsewhere. */
  readonly schema?: string | undefined
  /** Whether what would be passed over is refused. */
  readonly strict?: boolean
  /** How long a statement, a comment, or a row may be. */
  readonly maxBytes: number
}

/** What a script did. */
export interface ScriptResult {
  /** How many statements were run. */
  readonly statements: number
  /** How many rows COPY took. */
  readonly rows: number
  readonly passedOver: readonly PassedOver[]
  /** The functions, and blocks, that name the schema of the dump in their body where it stays as it is. */
  readonly unmappedFunctions: readonly { readonly name: string; readonly line: number }[]
}

/** Where a script failed, as far as that is known. */
export interface FailureSite {
  line?: number | undefined
  /** The schema that the script calls the stage's. */
  schema?: string | undefined
}

/** Small INSERTs are sent together, up to so many characters: each by itself would wait for an answer. */
const MAX_BATCH_CHARS = 64 * 1024

/**
 * Runs a script in a transaction, statement by statement, and gives the rows behind a COPY to it.
 *
 * @param client in a transaction. @param stageSchema of the stage, where names without a schema are.
 * @param onRead gets the script as it is read, but for the rows of COPY.
 * @param site learns where it failed, before that is thrown.
 * @throws PostgreSQL's own errors; {AppError} SQL_REJECTED for what is not sent to it.
 */
export async function runScript(
  client: pg.PoolClient,
  chunks: AsyncIterable<BorrowedBytes>,
  options: ScriptOptions & {
    readonly stageSchema: string
    readonly onRead: (bytes: Buffer) => void
    readonly ensureExtension: EnsureExtension
  },
  site: FailureSite,
): Promise<ScriptResult> {
  const {
    rows: [session],
  } = await client.query<{ login: string }>('SELECT current_user::text AS login')
  const text = createScriptText(client)
  const dump = createDumpState(options, session?.login ?? '')
  const reader = readScript(chunks, {
    maxBytes: options.maxBytes,
    standardStrings: () => text.standardStrings,
    onComment: dump.onComment,
    onRead: options.onRead,
  })
  const extensions = await openExtensions(client, options.stageSchema, options.ensureExtension)
  const prepare = createPreparation(dump.map, extensions)
  const passedOver = createPassedOver(options.strict ?? false)
  const unmappedFunctions: { name: string; line: number }[] = []
  const refreshPaths = createRefreshPaths(client, options.stageSchema)
  const batch: LocatedStatement[] = []
  let [statements, rows, batchChars] = [0, 0, 0]

  const runBatch = async (): Promise<void> => {
    const taken = batch.splice(0)
    batchChars = 0
    if (taken.length === 0) return
    const { sql, lines } = asBlock(taken)
    await client.query(sql).catch((error: unknown) => {
      site.line = failedLine(error, taken, lines)
      throw error
    })
    statements += taken.length
  }

  const copy = async ({ bytes, line }: Statement, prepared: PreparedStatement, table: string): Promise<void> => {
    const firstLine = lineBehind(line, bytes)
    const statement = copyStatement(prepared, line, text)
    const { mapRows = (unmapped) => unmapped } = prepared
    rows += await copyInto(client, statement, mapRows(reader.rows())).catch((error: unknown) => {
      site.line = failedRowLine(error, table, firstLine) ?? line
      throw error
    })
    statements += 1
  }

  const run = async (statement: Statement): Promise<void> => {
    site.line = statement.line
    const sql = await text.decode(statement)
    dump.onStatement(sql)
    const prepared = await prepare(sql)
    const { line } = statement
    const isInsert = /^insert\b/i.test(prepared.text)
    if (!isInsert || batchChars + prepared.text.length > MAX_BATCH_CHARS) await runBatch()
    site.line = line
    site.schema = dump.map()?.schema
    if (prepared.extension !== undefined) {
      await extensions.make(prepared.extension, line)
      statements += 1
      return
    }
    if (prepared.refused !== undefined) throw rejected(prepared.refused, { line })
    if (prepared.passedOver !== undefined) return passedOver.add(prepared.passedOver, line)
    if (prepared.leavesBodyOf !== undefined) unmappedFunctions.push({ name: prepared.leavesBodyOf, line })
    if (prepared.copiesInto !== undefined) return copy(statement, prepared, prepared.copiesInto)
    if (prepared.losesSchemaOf !== undefined) await refreshPaths.add(prepared.losesSchemaOf)
    await refreshPaths.before(prepared.text)
    batch.push({ text: prepared.text, line })
    batchChars += prepared.text.length
    if (isInsert) return
    await runBatch()
    await text.follow(prepared.text)
  }

  try {
    for (let statement = await reader.next(); statement; statement = await reader.next()) await run(statement)
    await runBatch()
    dump.assertWhole(reader.line)
    await refreshPaths.set()
    site.line = undefined
    return { statements, rows, passedOver: passedOver.list(), unmappedFunctions }
  } finally {
    await reader.close()
  }
}

/** @throws {AppError} SQL_REJECTED where its rows are in another encoding and it can't be told so. */
function copyStatement(
  { text, hasOptions }: PreparedStatement,
  line: number,
  { encoding, standardStrings }: { readonly encoding: string | undefined; readonly standardStrings: boolean },
): string {
  // The grammar that has seen that this is one statement reads backslashes by the standard.
  if (!standardStrings && text.includes('\\')) {
    throw rejected('COPY with a backslash needs standard_conforming_strings = on', { line })
  }
  if (encoding === undefined) return text
  if (hasOptions) throw rejected(`COPY with options is only read in UTF-8, and not in ${encoding}`, { line })
  return `${text} WITH (ENCODING '${encoding}')`
}
