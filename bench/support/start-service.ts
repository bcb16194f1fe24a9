import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { readServiceAddress } from '../../src/data-folder/service-address.ts'
import { PROGRAM } from '../../test/support/processes/child.ts'
import { peakMemory } from '../../test/support/processes/peak-memory.ts'

const ROOT_TOKEN = 'root-token-of-the-bench-with-many-characters'
const START_TIMEOUT_MS = 30_000

export interface BenchService {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The most memory that the process ever had, in bytes; undefined where the system does not tell. */
  peakMemoryBytes(): Promise<number | undefined>
  stop(): Promise<void>
}

/** Runs the compiled service, as `npm start` does, in a process of its own. */
export async function startService(options: {
  readonly databaseUrl: string
  /** An existing folder, used by nothing else but other parts of this service. */
  readonly dataDir: string
  /** One part of the service; all of it where it is missing. A worker is found beside an API with the same folder. */
  readonly part?: 'api' | 'worker'
  /** For the queue and the answers that processes share; PostgreSQL has the queue where it is missing. */
  readonly redisUrl?: string | undefined
  /** `warn` where the parts of the bench want nothing else. */
  readonly logLevel?: 'warn' | 'info'
}): Promise<BenchService> {
  const { databaseUrl, dataDir, part = 'start', redisUrl, logLevel = 'warn' } = options
  const log = logLevel === 'info' ? openSync(join(dataDir, 'service.log'), 'w') : 'inherit'
  const child = spawn(process.execPath, [PROGRAM, part], {
    cwd: dataDir,
    env: {
      DATABASE_URL: databaseUrl,
      WHARF_DATA_DIR: dataDir,
      WHARF_PORT: '0',
      WHARF_ROOT_TOKEN: ROOT_TOKEN,
      WHARF_LOG_LEVEL: logLevel,
      // One token asks more often than any client should.
      WHARF_MAX_REQUESTS: '0',
      ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    },
    stdio: ['ignore', 'pipe', log],
  })
  if (typeof log === 'number') closeSync(log)
  const exited = once(child, 'exit')
  const { pid } = child
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await exited
  }
  try {
    await untilReady(child)
    const address = await readServiceAddress(dataDir)
    if (!address) throw new Error('a worker was started before its API')
    return {
      url: address.url,
      headers: { authorization: `Bearer ${ROOT_TOKEN}` },
      peakMemoryBytes: async () => (process.platform === 'linux' && pid !== undefined ? peakMemory(pid) : undefined),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Each part says on its standard output what it does, once it does it. */
async function untilReady(child: ChildProcess): Promise<void> {
  const signal = AbortSignal.timeout(START_TIMEOUT_MS)
  const said = child.stdout && once(child.stdout, 'data', { signal }).then(() => true)
  const ended = once(child, 'exit', { signal }).then(() => false)
  const isReady = await Promise.race([said, ended]).catch(() => false)
  if (!isReady) throw new Error('the service did not start; run `npm run build` where dist/ is older than src/')
}
