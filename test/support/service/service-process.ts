import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JobTimings } from '../../../src/jobs/timings.ts'
import { createMigratedDatabase, type TestDatabase } from '../database/database.ts'
import { type ApiClient, createApiClient } from '../http/api-client.ts'
import { bundled } from '../processes/bundled.ts'
import { PROGRAM, spawnChild } from '../processes/child.ts'
import { PROCESS_FLAGS } from '../processes/node-flags.ts'
import { ROOT_TOKEN } from './wharf.ts'

/** With which such a service reads the passwords that another has kept. */
export const SECRET_KEY = 'secret-key-of-the-tests-with-many-characters'

export interface MainProcess {
  readonly pid: number
  /** What it has said so far. */
  log(): string
  /** Sends a signal and waits for the end. @returns the exit code; null where the signal ended it. */
  kill(signal: NodeJS.Signals): Promise<number | null>
}

export interface ServiceProcess extends MainProcess {
  readonly url: string
  readonly root: ApiClient
}

export interface MainOptions {
  readonly databaseUrl: string
  readonly dataDir: string
  /** Variables on top of those that it needs anyway. */
  readonly environment?: Readonly<Record<string, string>>
  /** Instead of those that jobs have in production. */
  readonly jobTimings?: Partial<JobTimings> | undefined
  /** Node.js's own options. */
  readonly flags?: readonly string[]
  /** The Node.js that runs it; by default that of the tests. */
  readonly node?: string
  /** Another build of it than that of this checkout. */
  readonly program?: string
}

/** Starts the built service, or only its API, in a process of its own, and waits until it answers. */
export async function startServiceProcess(
  options: MainOptions,
  command: 'start' | 'api' = 'start',
): Promise<ServiceProcess> {
  const { said, ...process } = await startMain(command, options, /Wharf is at ([^\s"]+)/)
  return { ...process, url: said, root: createApiClient(said, ROOT_TOKEN) }
}

/** Starts a built worker in a process of its own, and waits until it works on jobs. */
export const startWorkerOf = (options: MainOptions): Promise<MainProcess> =>
  startMain('worker', options, /(Wharf works on jobs)/)

/** A service process with a database and a data folder of its own. */
export interface OwnServiceProcess extends ServiceProcess {
  readonly database: TestDatabase
  readonly dataDir: string
  /** Starts the next process on them, once this one has ended. */
  restart(): Promise<OwnServiceProcess>
  /** Ends it, and removes them. */
  close(): Promise<void>
}

export async function startOwnServiceProcess(
  options: Pick<MainOptions, 'flags' | 'jobTimings' | 'node' | 'environment'> = {},
): Promise<OwnServiceProcess> {
  const database = await createMigratedDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'wharf-test-'))
  const start = async (): Promise<OwnServiceProcess> => {
    const service = await startServiceProcess({ ...options, databaseUrl: database.url, dataDir })
    return {
      ...service,
      database,
      dataDir,
      restart: start,
      async close() {
        await service.kill('SIGTERM')
        await database.drop()
        await rm(dataDir, { recursive: true, force: true })
      },
    }
  }
  return start()
}

/** @returns also what the first group of `ready` has found in what the process says. */
async function startMain(
  command: string,
  { databaseUrl, dataDir, environment, jobTimings, flags = PROCESS_FLAGS, ...options }: MainOptions,
  ready: RegExp,
): Promise<MainProcess & { readonly said: string }> {
  const { node = process.execPath, program = jobTimings ? bundled('run-main') : PROGRAM } = options
  const child = await spawnChild(node, [...flags, program, command], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      WHARF_DATA_DIR: dataDir,
      WHARF_ROOT_TOKEN: ROOT_TOKEN,
      WHARF_SECRET_KEY: SECRET_KEY,
      WHARF_PORT: '0',
      WHARF_LOG_LEVEL: 'warn',
      ...(jobTimings && { TEST_TIMINGS: JSON.stringify(jobTimings) }),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const said = new Promise<string>((resolve, reject) => {
    for (const stream of [child.process.stdout, child.process.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        const [, found] = ready.exec(output) ?? []
        if (found) resolve(found)
      })
    }
    child.process.once('exit', () => reject(new Error(`the service ended: ${output}`)))
  })
  return {
    pid: child.pid,
    said: await said,
    log: () => output,
    async kill(signal) {
      child.signal(signal)
      await child.ended
      return child.process.exitCode
    },
  }
}
