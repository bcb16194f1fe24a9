import pg from 'pg'

type Callback = Parameters<typeof pg.Pool.prototype.connect>[0]

/** Connects, and where that fails and something can be done about it, does so and connects again. */
export type Connecting = (connect: () => Promise<pg.PoolClient>) => Promise<pg.PoolClient>

/** A pool that connects so, no matter who asks for a connection: a query, a transaction of Prisma's, or a session. */
export class RetryingPool extends pg.Pool {
  readonly #connecting: Connecting

  constructor(config: pg.PoolConfig, connecting: Connecting) {
    super(config)
    this.#connecting = connecting
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    const connected = this.#connecting(() => super.connect())
    if (!callback) return connected
    connected.then(
      (client) => callback(undefined, client, (error) => client.release(error)),
      (error: Error) => callback(error, undefined, () => undefined),
    )
    return undefined
  }
}
