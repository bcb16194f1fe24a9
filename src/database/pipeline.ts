import type { Duplex } from 'node:stream'
import type pg from 'pg'
import { forgetUnnamedStatement, hasUnnamedStatement } from './unnamed-statement.ts'

/** One statement of several that go to PostgreSQL in one message. */
export interface PipelinedStatement {
  readonly sql: string
  /** As text; a text of several statements, or one that takes rows, is refused. */
  readonly values: readonly (string | null)[]
  /** Under which name the session keeps it; where it is left out, the session does not. */
  readonly name?: string | undefined
  /** Whether the session has it under that name already. */
  readonly isKept?: boolean
  /** Whether it may be the session's unnamed statement from an earlier time: for one that means the same every time. */
  readonly staysUnnamed?: boolean
  /** What it gives, where that is known. */
  readonly columns?: Columns | undefined
}

/** The columns of an answer. */
export type Columns = readonly { readonly name: string; readonly parse: (text: string) => unknown }[]

export interface PipelinedAnswer {
  readonly rows: readonly object[]
  readonly columns: Columns
  /** What PostgreSQL says that it has done: `SELECT 1`, `ROLLBACK`; empty for an empty text. */
  readonly tag: string
}

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
  close(what: { readonly type: 'S'; readonly name: string }): void
  sync(): void
}

interface Field {
  readonly name: string
  readonly dataTypeID: number
}

interface Outcome {
  answer(answers: readonly PipelinedAnswer[]): void
  fail(error: unknown): void
}

/**
 * Runs statements one after the other, in one message and so in one round trip. Where PostgreSQL refuses one of them, none
 * after it runs.
 *
 * Without a BEGIN before or among them they are one transaction.
 *
 * @param forgotten names of statements that the session is to keep no longer.
 * @throws what PostgreSQL says of the first that fails. The session may be in a transaction then.
 */
export const sendTogether = (
  client: pg.ClientBase,
  statements: readonly PipelinedStatement[],
  forgotten: readonly string[] = [],
): Promise<readonly PipelinedAnswer[]> =>
  new Promise((answer, fail) => {
    client.query(new Pipeline(client, statements, forgotten, { answer, fail }))
  })

/**
 * As `pg` runs queries of all kinds: it calls the methods whose names begin with `handle`.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
class Pipeline implements pg.Submittable {
  readonly #client: pg.ClientBase
  readonly #statements: readonly PipelinedStatement[]
  readonly #forgotten: readonly string[]
  readonly #outcome: Outcome
  readonly #answers: PipelinedAnswer[] = []
  #columns: Columns | undefined
  #rows: object[] = []
  #failure: { readonly error: unknown } | undefined
  #connection: object | undefined

  constructor(
    client: pg.ClientBase,
    statements: readonly PipelinedStatement[],
    forgotten: readonly string[],
    outcome: Outcome,
  ) {
    this.#client = client
    this.#statements = statements
    this.#forgotten = forgotten
    this.#outcome = outcome
  }

  submit(pgConnection: unknown): void {
    const connection = pgConnection as Connection
    this.#connection = connection
    connection.stream.cork()
    for (const name of this.#forgotten) connection.close({ type: 'S', name })
    for (const { sql, values, name = '', isKept = false, staysUnnamed = false, columns } of this.#statements) {
      if (!isKept && !(staysUnnamed && hasUnnamedStatement(connection, sql))) connection.parse({ name, text: sql })
      connection.bind({ portal: '', statement: name, values })
      if (!columns) connection.describe({ type: 'P', name: '' })
      connection.execute({ portal: '', rows: 0 })
    }
    // Only here: what comes after one that fails is skipped up to this.
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: this.#client.getTypeParser(dataTypeID, 'text'),
    }))
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    try {
      const values = this.#columnsNow().map(({ name, parse }, index) => [name, toValue(fields[index] ?? null, parse)])
      this.#rows.push(Object.fromEntries(values))
    } catch (error) {
      this.#failure ??= { error }
    }
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#endAnswer(text)
  }

  handleEmptyQuery(): void {
    this.#endAnswer('')
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
    if (this.#connection) forgetUnnamedStatement(this.#connection)
    this.#outcome.fail(error)
  }

  #columnsNow(): Columns {
    return this.#columns ?? this.#statements[this.#answers.length]?.columns ?? []
  }

  #endAnswer(tag: string): void {
    this.#answers.push({ rows: this.#rows, columns: this.#columnsNow(), tag })
    this.#rows = []
    this.#columns = undefined
  }
}

const toValue = (text: string | null, parse: (text: string) => unknown): unknown => (text === null ? null : parse(text))
