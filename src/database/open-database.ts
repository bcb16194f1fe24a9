import { PrismaPg } from '@prisma/adapter-pg'
import type { Logger } from '../logger.ts'
import type { ConnectionTarget } from './client-config.ts'
import type { Database, DatabaseOptions } from './database.ts'
import { endHungConnections } from './end-hung-connections.ts'
import { PrismaClient } from './generated/client.ts'
import type { IdleConnections } from './idle-connections.ts'
import { createPool } from './pool.ts'

/**
 * How long a transaction may wait for its connection, and last, in milliseconds, where its user says nothing else.
 * Prisma's own two and five seconds are too short for a machine that is busy.
 */
const TRANSACTIONS = { maxWait: 10_000, timeout: 60_000 }

interface Surroundings {
  readonly logger: Logger
  /** Whether the server still answers, for databases whose connections end when it hangs. */
  readonly answers?: () => Promise<boolean>
  /** Connections that other databases do not use. */
  readonly idle?: IdleConnections
}

/** Opens a database. It connects when it is first used; who opens it closes it. */
export function openDatabase(
  target: ConnectionTarget,
  options: DatabaseOptions,
  { logger, answers, idle }: Surroundings,
): Database {
  const pool = createPool(target, options, logger, idle)
  if (options.endsWhenServerHangs && answers) endHungConnections(pool, answers)
  let client: PrismaClient | undefined
  // Prisma connects again when it is next used.
  const rest = async (): Promise<void> => client?.$disconnect()
  return {
    // Each takes megabytes, and most databases of projects are used without.
    get prisma() {
      client ??= new PrismaClient({ adapter: new PrismaPg(pool), transactionOptions: TRANSACTIONS })
      return client
    },
    pool,
    rest,
    async close() {
      await rest()
      await pool.end()
    },
  }
}
