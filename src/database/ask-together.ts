import type { Duplex } from 'node:stream'
import type pg from 'pg'

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
    return sendTogether(client, questions)
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
      message.map((sql) => ({ sql, parameters: [] })),
    )
  }
}

const sendTogether = (client: pg.ClientBase, questions: readonly Question[]): Promise<readonly (readonly object[])[]> =>
  new Promise((answer, fail) => {
    client.query(new QuestionsTogether(client, questions, { answer, fail }))
  })

/** What is used of `pg`'s connection. */
interface Connection {
  readonly stream: Duplex
  parse(statement: { readonly name: string; readonly text: string }): void
  bind(portal: {
    readonly portal: string
    readonly statement: string
    readonly values: readonly (string | null)[]
  }): void
  describe(what: { readonly type: 'P'; readonly name: string }): void
  execute(portal: { readonly portal: string; readonly rows: number }): void
  sync(): void
}

interface Field {
  readonly name: string
  readonly dataTypeID: number
}

interface Outcome {
  answer(rows: readonly (readonly object[])[]): void
  fail(error: unknown): void
}

/**
 * As `pg` runs queries of all kinds: it calls the methods whose names begin with `handle`.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
class QuestionsTogether implements pg.Submittable {
  readonly #client: pg.ClientBase
  readonly #questions: readonly Question[]
  readonly #outcome: Outcome
  readonly #answers: (readonly object[])[] = []
  #fields: readonly { readonly name: string; readonly parse: (text: string) => unknown }[] = []
  #rows: object[] = []
  #failure: { readonly error: unknown } | undefined

  constructor(client: pg.ClientBase, questions: readonly Question[], outcome: Outcome) {
    this.#client = client
    this.#questions = questions
    this.#outcome = outcome
  }

  submit(pgConnection: unknown): void {
    const connection = pgConnection as Connection
    connection.stream.cork()
    for (const { sql, parameters } of this.#questions) {
      connection.parse({ name: '', text: sql })
      const values = parameters.map((value) => (value === null ? null : String(value)))
      connection.bind({ portal: '', statement: '', values })
      connection.describe({ type: 'P', name: '' })
      connection.execute({ portal: '', rows: 0 })
    }
    // Only here: what comes after one that fails is skipped up to this.
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    this.#fields = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: this.#client.getTypeParser(dataTypeID, 'text'),
    }))
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    try {
      const values = this.#fields.map(({ name, parse }, index) => [name, toValue(fields[index] ?? null, parse)])
      this.#rows.push(Object.fromEntries(values))
    } catch (error) {
      this.#failure ??= { error }
    }
  }

  handleCommandComplete(): void {
    this.#endAnswer()
  }

  handleEmptyQuery(): void {
    this.#endAnswer()
  }

  /** Nothing that is asked here takes rows. Who asked has no use for the session any more. */
  handleCopyInResponse(connection: Connection): void {
    connection.stream.destroy(new Error('a statement that was run with others takes rows'))
  }

  handleReadyForQuery(): void {
    if (this.#failure) this.#outcome.fail(this.#failure.error)
    else this.#outcome.answer(this.#answers)
  }

  handleError(error: unknown): void {
    this.#outcome.fail(error)
  }

  #endAnswer(): void {
    this.#answers.push(this.#rows)
    this.#rows = []
    this.#fields = []
  }
}

const toValue = (text: string | null, parse: (text: string) => unknown): unknown => (text === null ? null : parse(text))
