import type pg from 'pg'
import { keptStatementsOf } from './kept-statements.ts'
import { type PipelinedStatement, sendTogether } from './pipeline.ts'
import { resetSession } from './session-client.ts'
import { SQLSTATE, sqlState } from './sqlstate.ts'

export interface LoneRead {
  readonly text: string
  readonly values: readonly unknown[]
  /** Settings of the transaction, by name; as many in each. */
  readonly settings: Readonly<Record<string, string>>
  /** What the text means: another one where its names may stand for something else. */
  readonly meaning: string
}

/**
 * Runs one statement that only reads, in a transaction of its own, in one round trip: beginning, settings, statement and
 * end go in one message. The session keeps the statement, so that it is parsed once, and nothing else: whatever the
 * project's own code has set in it ends with the transaction, which is rolled back.
 *
 * What a rollback leaves, such code could use, too: locks of the session are given back, and a session in which it has
 * prepared statements, which may stand in for ours, is reset.
 *
 * @param client is given back when the session is as it was, and ended where it can't be.
 * @param isOver whether the session is being ended, so that nobody else may get it.
 * @throws what PostgreSQL says.
 */
export async function readAlone<Row>(
  client: pg.PoolClient,
  read: LoneRead,
  isOver = () => false,
): Promise<readonly Row[]> {
  try {
    const { rows, isTouched } = await ask(client, read)
    if (isTouched) await restoreTouched(client)
    client.release(isOver())
    return rows as readonly Row[]
  } catch (error) {
    await restore(client, isOver)
    throw error
  }
}

async function ask(client: pg.PoolClient, read: LoneRead): Promise<Answered> {
  const attempt = toAttempt(client, read)
  try {
    return await attempt.run()
  } catch (error) {
    if (!attempt.isKept || !isOutdated(error)) throw error
    await restoreTouched(client)
    return toAttempt(client, read).run()
  }
}

interface Answered {
  readonly rows: readonly object[]
  /** Whether statements were prepared in the session that are not ours. */
  readonly isTouched: boolean
}

interface Attempt {
  /** Whether a statement of it was parsed earlier. */
  readonly isKept: boolean
  run(): Promise<Answered>
}

const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY'

const END = 'ROLLBACK'

/**
 * The last word after the project's own code: nothing can stand in for the unnamed statement. It is parsed and planned once for many reads, which takes
 * longer than many a read does.
 */
const CHECK =
  'SELECT pg_catalog.pg_advisory_unlock_all(), EXISTS (SELECT FROM pg_catalog.pg_prepared_statement() WHERE from_sql) AS touched'

const CHECKING: PipelinedStatement = {
  sql: CHECK,
  values: [],
  staysUnnamed: true,
  columns: [
    { name: 'unlocked', parse: () => undefined },
    { name: 'touched', parse: (text) => text !== 'f' },
  ],
}

/** Where the statement itself comes, and what comes after it. */
const [THIRD, FOURTH, FIFTH] = [2, 3, 4]

function toAttempt(client: pg.PoolClient, { text, values, settings, meaning }: LoneRead): Attempt {
  const kept = keptStatementsOf(client)
  const asked: { readonly statement: PipelinedStatement; readonly key: string }[] = []
  const add = (sql: string, key: string, given: readonly (string | null)[] = []): void => {
    const found = kept.find(key)
    if (found) return void asked.push({ statement: { sql, values: given, isKept: true, ...found }, key })
    const name = kept.nameFor(sql)
    asked.push({ statement: { sql, values: given, ...(name !== undefined && { name }) }, key })
  }
  add(BEGIN, BEGIN)
  const setting = settingsSql(Object.keys(settings).length)
  add(setting, setting, Object.entries(settings).flat())
  add(text, `${meaning}\n${text}`, values.map(toText))
  add(END, END)
  asked.push({ statement: CHECKING, key: CHECK })
  const unkept = asked.filter(({ statement: { name, isKept } }) => name !== undefined && !isKept)

  return {
    isKept: unkept.length < asked.length,
    async run() {
      const statements = asked.map(({ statement }) => statement)
      const answers = await sendTogether(client, statements, kept.takeForgotten()).catch((error: unknown) => {
        // It may be there or not.
        for (const { statement } of unkept) kept.forget(statement.name ?? '')
        throw error
      })
      for (const [index, { statement, key }] of asked.entries()) {
        const { name, isKept } = statement
        if (name !== undefined && !isKept) kept.keep(key, { name, columns: answers[index]?.columns ?? [] })
      }
      const [check] = (answers[FIFTH]?.rows ?? []) as { touched: boolean }[]
      // What stood in for the end may have removed itself, but can't have ended the transaction: PREPARE takes queries alone.
      const isEnded = answers[FOURTH]?.tag === END
      return { rows: answers[THIRD]?.rows ?? [], isTouched: !isEnded || check?.touched !== false }
    },
  }
}

/** By how many settings there are. */
const settingsTexts: string[] = []

function settingsSql(count: number): string {
  settingsTexts[count] ??=
    `SELECT ${Array.from({ length: count }, (_, index) => `pg_catalog.set_config($${2 * index + 1}, $${2 * index + 2}, true)`).join(', ')}`
  return settingsTexts[count]
}

function toText(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  throw new TypeError('a value has to be written as text before it is sent')
}

/**
 * Whether a statement that was kept is not there any more, since a function of the project has removed it, takes other
 * values, since one has replaced it, or gives columns of other types than when it was parsed.
 */
const isOutdated = (error: unknown): boolean => OUTDATED.has(sqlState(error) ?? '')

const OUTDATED: ReadonlySet<string> = new Set([
  SQLSTATE.unknownStatement,
  SQLSTATE.duplicateStatement,
  SQLSTATE.protocolViolation,
  SQLSTATE.featureNotSupported,
])

/** What ended the transaction may have been something else. */
async function restoreTouched(client: pg.PoolClient): Promise<void> {
  await client.query(END)
  await resetSession(client)
}

/** After a failure, which has left the transaction open. */
async function restore(client: pg.PoolClient, isOver: () => boolean): Promise<void> {
  try {
    const results: unknown = await client.query(`${END}; ${CHECK}`)
    const last: unknown = Array.isArray(results) ? results.at(-1) : undefined
    const check = last as { readonly rows: readonly { readonly touched: boolean }[] } | undefined
    if (check?.rows[0]?.touched !== false) await resetSession(client)
    client.release(isOver())
  } catch {
    client.release(true)
  }
}
