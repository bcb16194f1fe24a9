import type pg from 'pg'
import { sendTogether } from './pipeline.ts'

/** Asks one SQL text with parameters. */
export type Ask = <Row>(sql: string, parameters?: readonly unknown[]) => Promise<Row[]>

interface Question {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

interface WaitingQuestion extends Question {
  answer(rows: readonly object[]): void
  fail(error: unknown): void
}

/**
 * Asks in one session. What is asked at the same time (`Promise.all`) goes to PostgreSQL in one message, and is answered
 * in that order: each message takes a turn of the event loop, which a process that checks an archive meanwhile has once in
 * ten milliseconds.
 *
 * Where PostgreSQL refuses one of them, those after it fail with the same error, unasked.
 *
 * @param client used by nobody else while a question is under way.
 */
export function askTogether(client: pg.ClientBase): Ask {
  let waiting: WaitingQuestion[] = []
  let isAsking = false

  const askAll = async (): Promise<void> => {
    isAsking = true
    while (waiting.length > 0) {
      const asked = waiting
      waiting = []
      try {
        const answers = await answersTo(client, asked)
        for (const [index, { answer }] of asked.entries()) answer(answers[index] ?? [])
      } catch (error) {
        for (const { fail } of asked) fail(error)
      }
    }
    isAsking = false
  }

  return <Row>(sql: string, parameters: readonly unknown[] = []) =>
    new Promise<Row[]>((resolve, reject) => {
      waiting.push({ sql, parameters, answer: (rows) => resolve(rows as Row[]), fail: reject })
      if (waiting.length === 1 && !isAsking) queueMicrotask(() => void askAll())
    })
}

async function answersTo(
  client: pg.ClientBase,
  questions: readonly Question[],
): Promise<readonly (readonly object[])[]> {
  if (questions.length > 1 && questions.every(({ parameters }) => parameters.every(isPlain))) {
    const statements = questions.map(({ sql, parameters }) => ({
      sql,
      values: parameters.map((value) => (value === null ? null : String(value))),
    }))
    return (await sendTogether(client, statements)).map(({ rows }) => rows)
  }
  const answers: (readonly object[])[] = []
  for (const { sql, parameters } of questions) answers.push((await client.query(sql, [...parameters])).rows)
  return answers
}

/** Whether it is its own text, as `pg` sends it: lists and the like have to be written down. */
const isPlain = (value: unknown): boolean => value === null || ['string', 'number', 'boolean'].includes(typeof value)

/** How many statements go in one message, so that it does not get large. */
const MAX_STATEMENTS = 100

/**
 * Runs statements one after the other, in few messages. Each is one statement: a text of several is refused.
 *
 * @throws what PostgreSQL says of the first that fails; none after it has run then. The caller has begun a transaction.
 */
export async function runTogether(client: pg.ClientBase, statements: readonly string[]): Promise<void> {
  for (let first = 0; first < statements.length; first += MAX_STATEMENTS) {
    const message = statements.slice(first, first + MAX_STATEMENTS)
    await sendTogether(
      client,
      message.map((sql) => ({ sql, values: [] })),
    )
  }
}
