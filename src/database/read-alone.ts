import type pg from 'pg'
import { keptStatementsOf } from './kept-statements.ts'
import { type PipelinedStatement, sendTogether } from './pipeline.ts'
import { isOfProject, resetSession } from './session-client.ts'
import { SQLSTATE, sqlState } from './sqlstate.ts'

export interface LoneRead {
  readonly text: string
  readonly values: readonly unknown[]
  /** Settings that it is read with, by name; as many for each read. */
  readonly settings: Settings
  /** Settings of this read beside those. */
  readonly ownSettings?: Settings | undefined
  /** What the text means: another one where its names may stand for something else. */
  readonly meaning: string
}

type Settings = Readonly<Record<string, string>>

/**
 * Runs one statement that only reads, in a transaction of its own, in one round trip: beginning, statement and end go in one
 * message. The session keeps the statement, so that it is parsed once, and nothing else: whatever the
 * project's own code has set in it ends with the transaction, which is rolled back.
 *
 * A session on a project's stages keeps the settings, too, for the next read: everybody who asks one sets them by himself, and to
 * set them takes a sixth of what PostgreSQL does to read a row by its key (`npm run bench -- content`).
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

function toAttempt(client: pg.PoolClient, { text, values, settings, ownSettings = {}, meaning }: LoneRead): Attempt {
  const kept = keptStatementsOf(client)
  const asked: { readonly statement: PipelinedStatement; readonly key: string; readonly lasts: boolean }[] = []
  /** @returns where the answer to it comes. */
  const add = (sql: string, given: readonly (string | null)[] = [], key = sql): number => {
    const found = kept.find(key)
    const name = found?.name ?? kept.nameFor(sql)
    const statement = { sql, values: given, name, isKept: found !== undefined, columns: found?.columns }
    return asked.push({ statement, key, lasts: key === sql }) - 1
  }
  const addSettings = (given: Settings, isLocal: boolean): void => {
    const all = Object.entries(given).flat()
    if (all.length > 0) add(settingsSql(all.length / 2, isLocal), all)
  }
  const stays = isOfProject(client)
  const wanted = stays ? JSON.stringify(settings) : undefined
  const sets = stays && kept.settings !== wanted
  add(BEGIN)
  if (sets) {
    addSettings(settings, false)
    // What begins then reads only, too.
    add('COMMIT AND CHAIN')
  }
  addSettings(stays ? ownSettings : { ...settings, ...ownSettings }, true)
  const readAt = add(text, values.map(toText), `${meaning}\n${text}`)
  const endAt = add(END)
  const checkAt = asked.push({ statement: CHECKING, key: CHECK, lasts: true }) - 1
  const unkept = asked.filter(({ statement: { name, isKept } }) => name !== undefined && !isKept)

  return {
    isKept: unkept.length < asked.length,
    async run() {
      const statements = asked.map(({ statement }) => statement)
      // They may be set or not until all has gone well.
      if (sets) kept.settings = undefined
      const answers = await sendTogether(client, statements, kept.takeForgotten()).catch((error: unknown) => {
        // It may be there or not.
        for (const { statement } of unkept) kept.forget(statement.name ?? '')
        throw error
      })
      if (sets) kept.settings = wanted
      for (const [index, { statement, key, lasts }] of asked.entries()) {
        const { name, isKept } = statement
        if (name !== undefined && !isKept) kept.keep(key, { name, columns: answers[index]?.columns ?? [] }, lasts)
      }
      const [check] = (answers[checkAt]?.rows ?? []) as { touched: boolean }[]
      // What stood in for the end may have removed itself, but can't have ended the transaction: PREPARE takes queries alone.
      const isEnded = answers[endAt]?.tag === END
      return { rows: answers[readAt]?.rows ?? [], isTouched: !isEnded || check?.touched !== false }
    },
  }
}

/** By how many settings there are, and for how long. */
const settingsTexts = new Map<string, string>()

function settingsSql(count: number, isLocal: boolean): string {
  const key = `${count} ${isLocal}`
  const known = settingsTexts.get(key)
  if (known !== undefined) return known
  const set = Array.from(
    { length: count },
    (_, index) => `pg_catalog.set_config($${2 * index + 1}, $${2 * index + 2}, ${isLocal})`,
  )
  const text = `SELECT ${set.join(', ')}`
  settingsTexts.set(key, text)
  return text
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
