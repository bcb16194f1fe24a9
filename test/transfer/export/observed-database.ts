import type pg from 'pg'
import type { Database, Transaction } from '../../../src/database/database.ts'
import type { ProjectDatabase } from '../../../src/projects/stage-database.ts'

export interface Observer {
  /** Awaited before each raw statement of a transaction is sent. */
  readonly before: (statement: string) => Promise<void>
}

const STATEMENTS: ReadonlySet<string | symbol> = new Set([
  '$executeRaw',
  '$executeRawUnsafe',
  '$queryRaw',
  '$queryRawUnsafe',
])

type Use = (tx: Transaction) => Promise<unknown>

/** The same database, with somebody who looks on as its transactions go. Nothing else is different. */
export function observeDatabase(database: Database, observer: Observer): Database {
  const prisma = new Proxy(database.prisma, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (key !== '$transaction') return member
      return (use: Use, options: object) => target.$transaction((tx) => use(observeTransaction(tx, observer)), options)
    },
  })
  const pool = new Proxy(database.pool, {
    get(target, key) {
      if (key === 'connect') return async () => observeClient(await target.connect(), observer)
      return memberOf(target, key)
    },
  })
  return { ...database, prisma, pool }
}

function observeClient(client: pg.PoolClient, { before }: Observer): pg.PoolClient {
  return new Proxy(client, {
    get(target, key) {
      if (key !== 'query') return memberOf(target, key)
      return (query: unknown, ...others: unknown[]) => {
        const run = (): unknown => Reflect.apply(target.query, target, [query, ...others])
        return typeof query === 'string' ? before(query).then(run) : run()
      }
    },
  })
}

function memberOf(target: object, key: string | symbol): unknown {
  const member: unknown = Reflect.get(target, key)
  return typeof member === 'function' ? member.bind(target) : member
}

function observeTransaction(tx: Transaction, { before }: Observer): Transaction {
  return new Proxy(tx, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (typeof member !== 'function' || !STATEMENTS.has(key)) return member
      return async (sql: string | readonly string[], ...values: unknown[]) => {
        const statement = typeof sql === 'string' ? sql : sql.join('?')
        await before(statement)
        return Reflect.apply(member, target, [sql, ...values])
      }
    },
  })
}

/** The same of a project's database. */
export const observeProjectDatabase = (found: ProjectDatabase, observer: Observer): ProjectDatabase => ({
  ...found,
  database: observeDatabase(found.database, observer),
})
