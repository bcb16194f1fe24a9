import type pg from 'pg'
import type { Prisma, PrismaClient } from './generated/client.ts'

/**
 * A PostgreSQL database as one login sees it. The Prisma client and the pool share their connections: queries go
 * through Prisma, and what Prisma has no words for (COPY) through a connection of the very same pool.
 */
export interface Database {
  readonly prisma: PrismaClient
  readonly pool: pg.Pool
  /** Ends every connection; waits for those that are in use. */
  close(): Promise<void>
}

/** Opens a database; the container's is the only one. */
export type OpenDatabase = (connectionString: string, options: { readonly maxConnections: number }) => Database

/** What runs queries: a client, or a transaction of it. */
export type Queryable = PrismaClient | Prisma.TransactionClient

/** A transaction of Prisma's. */
export type Transaction = Prisma.TransactionClient
