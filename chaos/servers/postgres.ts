import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findBinaries, libraryEnvironment } from '../../src/database/embedded/binaries.ts'
import { signalIfThere } from '../../test/support/processes/process-tree.ts'
import { startCluster } from '../../test/support/servers/cluster.ts'
import { query, withSession } from '../../test/support/servers/sessions.ts'
import type { Period } from '../history.ts'

/** Within which PostgreSQL ends all sessions once one of its processes was killed. */
const ENDING_LIMIT_MS = 20_000

export interface Postgres {
  /** Wharf's login: no superuser, may create roles, owns its database. */
  readonly url: string
  /** The superuser, in Wharf's database. */
  readonly superuserUrl: string
  /** Each crash, from before it until no session of before was left; after it, UNLOGGED tables are empty. */
  readonly crashes: readonly Period[]
  start(): Promise<void>
  /** Ends it as a power cut would: nothing is flushed but what was synced. */
  crash(): Promise<void>
  /** Kills one server process that works for a client, upon which PostgreSQL ends all of them; waits until it has recovered. */
  killBackend(): Promise<void>
  /** Ends some of the sessions of clients, as an administrator would. */
  endSessions(share: number): Promise<void>
  /** Lets none of its processes do anything for a while. */
  freeze(ms: number): Promise<void>
  stop(): Promise<void>
}

/**
 * A PostgreSQL from the binaries of the embedded one. It syncs what it writes, as one in production does.
 *
 * @param folder an existing folder of its own.
 */
export async function createPostgres(folder: string): Promise<Postgres> {
  const programs = await findBinaries()
  const environment = await libraryEnvironment(programs, join(folder, 'libraries'))
  const cluster = await startCluster(folder, { programs, environment, settings: { restart_after_crash: 'on' } })
  const { start, stop } = cluster
  await query(cluster.superuserUrl, 'CREATE DATABASE wharf OWNER wharf')
  const inWharf = (clusterUrl: string): string => new URL('wharf', clusterUrl).href
  const [url, superuserUrl] = [inWharf(cluster.url), inWharf(cluster.superuserUrl)]
  const crashes: Period[] = []
  return {
    url,
    superuserUrl,
    crashes,
    start,
    async crash() {
      const since = performance.now()
      await stop('SIGQUIT')
      crashes.push({ begin: since, end: performance.now() })
    },
    async killBackend() {
      const since = performance.now()
      const hasCrashed = await withSession(superuserUrl, async (session) => {
        const ended = new Promise<boolean>((resolve) => session.once('end', () => resolve(true)))
        const { rows } = await session.query<{ pid: number }>(`${OTHER_SESSIONS} ORDER BY random() LIMIT 1`)
        for (const { pid } of rows) signalIfThere(pid, 'SIGKILL')
        // One that was about to end by itself takes nobody with it.
        return Promise.race([ended, sleep(ENDING_LIMIT_MS, false, { ref: false })])
      })
      // It answers again once all sessions have ended.
      await start()
      if (hasCrashed) crashes.push({ begin: since, end: performance.now() })
    },
    async endSessions(share) {
      const ending = `SELECT pg_terminate_backend(pid) FROM (${OTHER_SESSIONS}) others WHERE random() < ${share}`
      await query(superuserUrl, ending)
    },
    async freeze(ms) {
      const thaw = await cluster.freeze()
      await sleep(ms)
      thaw()
    },
    stop: () => stop('SIGINT'),
  }
}

const OTHER_SESSIONS = `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`
