import { PrismaPg } from '@prisma/adapter-pg'
import type { Logger } from '../logger.ts'
import type { ConnectionTarget } from './client-config.ts'
import type { Database, DatabaseOptions } from './database.ts'
import { endHungConnections } from './end-hung-connections.ts'
import { PrismaClient } from './generated/client.ts'
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
}

/** Opens a database. It connects when it is first used; who opens it closes it. */
export function openDatabase(
  target: ConnectionTarget,
  options: DatabaseOptions,
  { logger, answers }: Surroundings,
): Database {
  const pool = createPool(target, options, logger)
  if (options.endsWhenServerHangs && answers) endHungConnections(pool, answers)
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool), transactionOptions: TRANSACTIONS })
  const close = async (): Promise<void> => {
    await prisma.$disconnect()
    await pool.end()
  }
  // Prisma connects again when it is next used.
  return { prisma, pool, rest: () => prisma.$disconnect(), close }
}
