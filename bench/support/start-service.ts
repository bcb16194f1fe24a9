import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readServiceAddress } from '../../src/data-folder/service-address.ts'
import { PROGRAM, spawnChild, untilOutput } from '../../test/support/processes/child.ts'
import { memory, peakMemory } from '../../test/support/processes/peak-memory.ts'
import { type ProcessorTime, processorTime } from './processor-time.ts'

const ROOT_TOKEN = 'root-token-of-the-bench-with-many-characters'
const START_TIMEOUT_MS = 180_000

export interface BenchService {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The most memory that the process ever had, in bytes; undefined where the system does not tell. */
  peakMemoryBytes(): Promise<number | undefined>
  /** What the process has in memory now, in bytes; only Linux tells. */
  memoryBytes(): Promise<number>
  /** What its process has taken; only Linux tells. */
  processorTime(): Promise<ProcessorTime>
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
  /** Settings beside these. */
  readonly environment?: Readonly<Record<string, string>>
}): Promise<BenchService> {
  const { databaseUrl, dataDir, part = 'start', redisUrl, logLevel = 'warn', environment } = options
  const log = logLevel === 'info' ? openSync(join(dataDir, 'service.log'), 'w') : 'inherit'
  const child = await spawnChild(process.execPath, [PROGRAM, part], {
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
      ...environment,
    },
    stdio: ['ignore', 'pipe', log],
  })
  if (typeof log === 'number') closeSync(log)
  const stop = async (): Promise<void> => {
    child.signal('SIGTERM')
    await child.ended
  }
  try {
    // Each part says on its standard output what it does, once it does it.
    const failure = await Promise.race([untilOutput(child), sleep(START_TIMEOUT_MS, 'too late', { ref: false })])
    if (failure !== undefined) {
      throw new Error(`the service did not start (${failure}); run \`npm run build\` where dist/ is older than src/`)
    }
    const address = await readServiceAddress(dataDir)
    if (!address) throw new Error('a worker was started before its API')
    return {
      url: address.url,
      headers: { authorization: `Bearer ${ROOT_TOKEN}` },
      peakMemoryBytes: async () => (process.platform === 'linux' ? peakMemory(child.pid) : undefined),
      memoryBytes: () => memory(child.pid),
      processorTime: () => processorTime(child.pid),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
