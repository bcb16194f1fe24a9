import type { Database, Transaction } from '../../../src/database/database.ts'
import type { ProjectDatabase } from '../../../src/projects/stage-database.ts'

export interface Observer {
  /** Awaited before each raw statement of a transaction is sent. */
  readonly before?: (statement: string) => Promise<void>
  /** Told what each brought. */
  readonly after?: (statement: string, result: unknown) => void
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
  return { ...database, prisma }
}

function observeTransaction(tx: Transaction, { before, after }: Observer): Transaction {
  return new Proxy(tx, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (typeof member !== 'function' || !STATEMENTS.has(key)) return member
      return async (sql: string | readonly string[], ...values: unknown[]) => {
        const statement = typeof sql === 'string' ? sql : sql.join('?')
        await before?.(statement)
        const result: unknown = await Reflect.apply(member, target, [sql, ...values])
        after?.(statement, result)
        return result
      }
    },
  })
}

/** The same of a project's database. */
export const observeProjectDatabase = (found: ProjectDatabase, observer: Observer): ProjectDatabase => ({
  ...found,
  database: observeDatabase(found.database, observer),
})
