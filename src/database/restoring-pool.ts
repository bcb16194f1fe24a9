import pg from 'pg'
import { SQLSTATE, sqlState } from './sqlstate.ts'
import { databaseFailure, isLoginFull } from './sqlstate-meanings.ts'

type Callback = Parameters<typeof pg.Pool.prototype.connect>[0]

/**
 * A pool whose login can change its own password. Where the server refuses the password, it is set again, and the
 * connection tried once more, no matter who asked for it: a query, a transaction of Prisma's, or a session.
 */
export class RestoringPool extends pg.Pool {
  readonly #restorePassword: () => Promise<void>
  #restoring: Promise<void> | undefined

  /** @param restorePassword as somebody else than this login. What it throws is its own to tell of. */
  constructor(config: pg.PoolConfig, restorePassword: () => Promise<void>) {
    super(config)
    this.#restorePassword = restorePassword
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    const connected = super.connect().catch((error: unknown) => this.#tryAgain(error))
    if (!callback) return connected
    connected.then(
      (client) => callback(undefined, client, (error) => client.release(error)),
      (error: Error) => callback(error, undefined, () => undefined),
    )
    return undefined
  }

  async #tryAgain(error: unknown): Promise<pg.PoolClient> {
    // Said here, since Prisma leaves out by what it is told from a server that is full.
    if (isLoginFull(error)) throw databaseFailure(error) ?? error
    if (sqlState(error) !== SQLSTATE.invalidPassword) throw error
    // Connections that are refused at the same moment are helped by the same act.
    this.#restoring ??= this.#restorePassword().finally(() => {
      this.#restoring = undefined
    })
    // Where it failed, another process may have done it: that shows in the next refusal.
    await Promise.allSettled([this.#restoring])
    return super.connect()
  }
}
