import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabaseIn } from '../database/database.ts'
import { assertNothingForeign, startRecording } from '../statements/record-statements.ts'
import { type ClusterOptions, startCluster } from './cluster.ts'
import { dumpWith, type InstalledCluster } from './installed-cluster.ts'
import { query } from './sessions.ts'

/** A PostgreSQL server that belongs to one test file, which may do to it what it likes. */
export interface OwnCluster extends InstalledCluster {
  start(): Promise<void>
  /** Lets none of its processes do anything, until what is returned is called. */
  freeze(): Promise<() => void>
  /** Ends it as a crash would. */
  crash(): Promise<void>
  /** Ends it in order, and starts it as a standby is started: it can be read only. */
  restartAsStandby(): Promise<void>
  /** Lets a standby take writes from now on. */
  promote(): Promise<void>
  /** Ends and removes it. @throws {Error} where Wharf's own login read or called in it what is a project's. */
  remove(): Promise<void>
}

/** Makes and starts a server from the programs in this folder. */
export async function startOwnCluster(
  bin: string,
  { settings = {}, environment = {} }: Omit<ClusterOptions, 'programs'> = {},
): Promise<OwnCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-cluster-'))
  const { dataDir, logPath, user, stop, ...cluster } = await startCluster(folder, {
    programs: { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') },
    settings: { fsync: 'off', max_connections: '200', ...settings },
    environment,
  })
  await startRecording(cluster.superuserUrl)
  return {
    ...cluster,
    createDatabase: () => createDatabaseIn(cluster),
    createServiceDatabase: () => createDatabaseIn(cluster),
    crash: () => stop('SIGQUIT'),
    async promote() {
      await query(cluster.superuserUrl, 'SELECT pg_promote()')
    },
    async restartAsStandby() {
      await stop('SIGINT')
      const signal = join(dataDir, 'standby.signal')
      await writeFile(signal, '')
      if (user.uid !== undefined && user.gid !== undefined) await chown(signal, user.uid, user.gid)
      await cluster.start()
    },
    dump: dumpWith(bin),
    async remove() {
      await stop('SIGINT')
      await assertNothingForeign(logPath).finally(() => rm(folder, { recursive: true, force: true }))
    },
  }
}
