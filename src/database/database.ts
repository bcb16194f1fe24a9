import type pg from 'pg'
import type { ConnectionTarget } from './client-config.ts'
import type { Prisma, PrismaClient } from './generated/client.ts'
import type { SessionKind } from './session-settings.ts'

/**
 * A PostgreSQL database as one login sees it. The Prisma client and the pool share their connections: queries go
 * through Prisma, and what Prisma has no words for (COPY) through a connection of the very same pool.
 */
export interface Database {
  readonly prisma: PrismaClient
  readonly pool: pg.Pool
  /** Gives back memory that a database which nobody uses does not need; who uses it again waits a moment longer. */
  rest(): Promise<void>
  /** Ends every connection; waits for those that are in use. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  readonly maxConnections: number
  /** What its sessions are for, which decides on their settings. */
  readonly session: SessionKind
  /** Whether its connections give byte text, as those that export do. */
  readonly givesByteText?: boolean
  /** What PostgreSQL calls its sessions; `wharf` where it is left out. */
  readonly applicationName?: string
  /** Whether its connections are ended when the server hangs: not those that last, whose users have other means. */
  readonly endsWhenServerHangs?: boolean
  /** Sets the login's password again, where the login may change it and the server refuses it. */
  readonly restorePassword?: () => Promise<void>
}

/** Opens a database (`open-database.ts`), with what its service has around it. */
export type OpenDatabase = (target: ConnectionTarget, options: DatabaseOptions) => Database

/** What runs queries: a client, or a transaction of it. */
export type Queryable = PrismaClient | Prisma.TransactionClient

/** A transaction of Prisma's. */
export type Transaction = Prisma.TransactionClient
