import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { isThorough } from '../thorough.ts'

/** How many clients an application has at once. */
const CLIENTS = 20

/** How long a client does something else between two transactions, in milliseconds, at most. */
const PAUSE_MS = isThorough ? 40 : 150

/**
 * Tables of an application, whose `gen` says as of which import their rows are: everything that a transaction reads has to
 * have the same.
 */
export const APPLICATION_SCHEMA = `
  CREATE TYPE mood AS ENUM ('calm', 'busy');
  CREATE DOMAIN amount AS numeric(8, 2) DEFAULT 1 CHECK (VALUE >= 0);
  CREATE TYPE place AS (street text, mood mood, paid amount);
  CREATE TABLE account (id int PRIMARY KEY, gen int NOT NULL, name text UNIQUE, touched int NOT NULL DEFAULT 0,
    mood mood NOT NULL DEFAULT 'calm', moods mood[] DEFAULT '{calm,busy}', paid amount, at place DEFAULT '(here,busy,3)',
    seats int4range DEFAULT '[1,3)');
  CREATE TABLE entry (id serial PRIMARY KEY, account_id int NOT NULL REFERENCES account, gen int NOT NULL, text text);
  CREATE INDEX ON entry (account_id);
  CREATE TABLE price (id int, gen int NOT NULL, PRIMARY KEY (id)) PARTITION BY RANGE (id);
  CREATE TABLE price_low PARTITION OF price FOR VALUES FROM (0) TO (500);
  CREATE TABLE price_high PARTITION OF price DEFAULT;
  CREATE TABLE visit (id bigserial PRIMARY KEY, account_id int NOT NULL REFERENCES account, at timestamptz DEFAULT now(), mood mood);
  CREATE SEQUENCE ticket;
  CREATE VIEW statement AS SELECT account.gen, entry.gen AS entry_gen FROM account JOIN entry ON account.id = account_id;
  CREATE MATERIALIZED VIEW total AS SELECT max(gen) AS gen, count(*) FROM account;
  INSERT INTO account (id, gen, name) SELECT n, 0, 'account ' || n FROM generate_series(1, 300) n;
  INSERT INTO entry (account_id, gen, text) SELECT 1 + n % 300, 0, 'entry ' || n FROM generate_series(1, 900) n;
  INSERT INTO price SELECT n, 0 FROM generate_series(1, 900) n`

/** Gives all rows another generation. */
export const generationOf = (gen: number): string =>
  `UPDATE account SET gen = ${gen}; UPDATE entry SET gen = ${gen}; UPDATE price SET gen = ${gen}; REFRESH MATERIALIZED VIEW total`

/** What a login of an application is granted, which owns nothing. */
export const grantsTo = (login: string, schema = 'public'): string =>
  `GRANT USAGE ON SCHEMA ${schema} TO ${login};
   GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${login};
   GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${login}`

export interface Seen {
  readonly reads: number
  readonly writes: number
  /** Those that a transaction saw together, and should not have. */
  readonly mixtures: readonly string[]
  /** Of those that clients got, the SQLSTATE or the code of the connection's, and the message. */
  readonly errors: readonly string[]
  /** The longest that a statement of a reader took, in milliseconds. */
  readonly longestReadMs: number
}

export interface Application {
  /** What the clients have seen until now. */
  seen(): Seen
  stop(): Promise<Seen>
}

interface Read {
  /** The statement's, and a table's or a view's. */
  readonly name: string
  readonly text: string
  readonly values: readonly unknown[]
}

const generationsIn = (name: string, columns = 'min(gen), max(gen)'): Read => ({
  name: `read ${name}`,
  text: `SELECT ${columns} FROM ${name} WHERE gen < $1`,
  values: [1_000],
})

/** What clients read: the first two columns are generations. Those of types of the schema are results as well as parameters. */
const READS: readonly Read[] = [
  ...['account', 'entry', 'price', 'total'].map((name) => generationsIn(name)),
  generationsIn('statement', 'LEAST(min(gen), min(entry_gen)), GREATEST(max(gen), max(entry_gen))'),
  {
    name: 'read types',
    text: `SELECT gen, gen, mood, moods, paid, at, (at).mood, seats, ARRAY[mood], paid + $3::amount
             FROM account WHERE mood = $1 AND $2 = ANY (moods) AND COALESCE(paid, $3::amount) <= 10 AND at = $4::place LIMIT 5`,
    values: ['calm', 'busy', '2', '(here,busy,3)'],
  },
]

/** Lets clients that share a pool read and write until they are stopped, each with statements that it has prepared once. */
export function runApplication(connectionString: string): Application {
  const pool = new pg.Pool({ connectionString, max: CLIENTS })
  pool.on('error', () => undefined)
  let isRunning = true
  const seen = { reads: 0, writes: 0, mixtures: [] as string[], errors: [] as string[], longestReadMs: 0 }

  const read = async (client: pg.PoolClient, isolation: string): Promise<void> => {
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`)
    // Repeatable reads are as of this moment.
    await client.query('SELECT 1')
    await sleep(Math.random() * 3)
    const found = new Set<string>()
    for (const { values, ...statement } of READS.toSorted(() => Math.random() - 0.5).slice(0, 2)) {
      const start = performance.now()
      const { rows } = await client.query<unknown[]>({ ...statement, values: [...values], rowMode: 'array' })
      seen.longestReadMs = Math.max(seen.longestReadMs, performance.now() - start)
      for (const row of rows) for (const gen of row.slice(0, 2)) found.add(`${gen}`)
    }
    await client.query('COMMIT')
    seen.reads += 1
    if (found.size !== 1) seen.mixtures.push([...found].join(' and '))
  }

  const write = async (client: pg.PoolClient): Promise<void> => {
    const values = [1 + Math.floor(Math.random() * 300), Math.random() < 0.5 ? 'calm' : 'busy']
    await client.query('BEGIN')
    const insert = 'INSERT INTO visit (account_id, mood) VALUES ($1, $2) RETURNING id, mood'
    await client.query({ name: 'visit', text: insert, values })
    const touch = 'UPDATE account SET touched = touched + 1, mood = $2 WHERE id = $1 RETURNING mood, at'
    await client.query({ name: 'touch', text: touch, values })
    await client.query({ name: 'ticket', text: `SELECT nextval('ticket')` })
    await client.query('COMMIT')
    seen.writes += 1
  }

  const work = async (number: number): Promise<void> => {
    while (isRunning) {
      const client = await pool.connect()
      let failure: Error | undefined
      try {
        if (number % 4 === 3) await write(client)
        else await read(client, number % 4 === 2 ? 'REPEATABLE READ' : 'READ COMMITTED')
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error))
        seen.errors.push(`${(failure as NodeJS.ErrnoException).code ?? ''} ${failure.message}`)
        // As applications do: the session goes on, unless it is the connection that broke.
        if (failure instanceof pg.DatabaseError)
          failure = await client.query('ROLLBACK').then(
            () => undefined,
            () => failure,
          )
      } finally {
        client.release(failure)
      }
      await sleep(Math.random() * PAUSE_MS)
    }
  }
  const working = Array.from({ length: CLIENTS }, (_, number) => work(number))
  const soFar = (): Seen => ({ ...seen, mixtures: [...seen.mixtures], errors: [...seen.errors] })

  return {
    seen: soFar,
    async stop() {
      isRunning = false
      await Promise.all(working)
      await pool.end()
      return soFar()
    },
  }
}
