import type pg from 'pg'
import type { Database } from '../database/database.ts'
import { LOGIN_USES, type LoginDatabases } from '../database/login-databases.ts'
import type { AttachedDatabases } from '../projects/attached/attached-databases.ts'
import type { AddGauge, Figures } from './figures.ts'

export interface ConnectionServices {
  readonly control: Database
  readonly snapshots: Database
  readonly imports: Database
  readonly logins: Pick<LoginDatabases, 'pools'>
  readonly attached: Pick<AttachedDatabases, 'pools'>
}

/** Figures about the connections that this process has to databases: those of Wharf's login, and of projects' together. */
export function addConnectionMetrics(addGauge: AddGauge, services: ConnectionServices): void {
  const { control, snapshots, imports, logins, attached } = services
  const poolsOf = (): readonly (readonly [name: string, pools: readonly pg.Pool[]])[] => [
    ['wharf', [control.pool]],
    ['wharf exports', [snapshots.pool]],
    ['wharf imports', [imports.pool]],
    ...LOGIN_USES.map((use) => [`projects ${use}`, [...logins.pools(use), ...attached.pools(use)]] as const),
  ]
  const sum = (pools: readonly pg.Pool[], figureOf: (pool: pg.Pool) => number): number =>
    pools.reduce((total, pool) => total + figureOf(pool), 0)
  addGauge(
    'wharf_database_connections',
    'Connections of this process to databases, by what they are for.',
    ['pool', 'state'],
    async (): Promise<Figures> =>
      poolsOf().flatMap(([pool, pools]) => [
        [{ pool, state: 'used' }, sum(pools, ({ totalCount, idleCount }) => totalCount - idleCount)],
        [{ pool, state: 'idle' }, sum(pools, ({ idleCount }) => idleCount)],
      ]),
  )
  addGauge(
    'wharf_database_connections_wanted',
    'How many in this process wait for one of these connections, since all are in use.',
    ['pool'],
    async () => poolsOf().map(([pool, pools]) => [{ pool }, sum(pools, ({ waitingCount }) => waitingCount)]),
  )
}
