import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { loadModule } from 'libpg-query'
import { query } from '../servers/sessions.ts'
import { foreignUse } from './foreign-use.ts'

/** Before each line of PostgreSQL's log that begins a message: something that no statement has, who, and in which session. */
const PREFIX = '\u241E%u\u241F%a\u241F'

/** A message of the log. What follows on lines of its own begins with a tab there. */
const MESSAGE = /^\u241E(?<login>[^\u241F]*)\u241F(?<session>[^\u241F]*)\u241F(?<level>[A-Z]+): {2}(?<text>.*)$/s

/** How PostgreSQL logs a statement, by the simple and by the extended protocol. */
const STATEMENT = /^(?:statement|execute [^:]*): (?<sql>.*)$/s

/** Sessions that make Wharf's own tables and the queue's. */
const BUILDS: ReadonlySet<string> = new Set(['wharf queue', 'wharf start', 'wharf migrations'])

/** Has PostgreSQL log every statement of the login `wharf` from now on. */
export async function startRecording(superuserUrl: string): Promise<void> {
  for (const sql of [
    `ALTER SYSTEM SET log_line_prefix = '${PREFIX}'`,
    'SELECT pg_reload_conf()',
    `ALTER ROLE wharf SET log_statement = 'all'`,
    'ALTER ROLE wharf SET log_parameter_max_length = 200',
  ]) {
    await query(superuserUrl, sql)
  }
}

/**
 * Reads what was recorded, and fails where Wharf's own login read or called anything that a project made.
 *
 * Sessions are Wharf's where they are called so (`application_name`); those of the tests themselves have no name.
 *
 * @param log what PostgreSQL wrote to its standard error.
 * @returns how many statements of Wharf's there were.
 * @throws {Error} with each such statement, once.
 */
export async function assertNothingForeign(log: string): Promise<number> {
  await loadModule()
  const problems = new Map<string, string>()
  let statements = 0
  for await (const { session, sql } of recorded(log)) {
    statements += 1
    const form = formOf(session, sql)
    if (problems.has(form)) continue
    const found = foreignUse(sql, { builds: BUILDS.has(session) })
    problems.set(form, found.length === 0 ? '' : `${found.join(', ')}, in the session "${session}":\n  ${sql.trim()}`)
  }
  const reported = [...problems.values()].filter((problem) => problem !== '')
  if (reported.length === 0) return statements
  throw new Error(`Wharf's own login read, or called, what is not its own:\n\n${reported.join('\n\n')}\n`)
}

/** Statements that differ in numbers, ids and values only are looked at once. */
const formOf = (session: string, sql: string): string =>
  `${BUILDS.has(session) ? session : ''}\n${sql.replace(/'[^']*'/g, "''").replace(/[0-9a-f]{8,}|\d+/g, '0')}`

async function* recorded(log: string): AsyncGenerator<{ readonly session: string; readonly sql: string }> {
  let message = ''
  for await (const line of createInterface({ input: createReadStream(log), crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.startsWith('\t')) {
      message += `\n${line.slice(1)}`
      continue
    }
    yield* statementOf(message)
    message = line
  }
  yield* statementOf(message)
}

function* statementOf(message: string): Generator<{ readonly session: string; readonly sql: string }> {
  const { login, session = '', text = '' } = MESSAGE.exec(message)?.groups ?? {}
  const sql = STATEMENT.exec(text)?.groups?.sql
  if (login === 'wharf' && /^wharf\b/.test(session) && sql !== undefined) yield { session, sql }
}
