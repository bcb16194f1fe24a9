import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type ApiClient, createApiClient } from '../http/api-client.ts'
import { ROOT_TOKEN } from './wharf.ts'

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url))

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
}

/** Starts the built service, or only its API, in a process of its own, and waits until it answers. */
export async function startServiceProcess(
  options: MainOptions,
  command: 'start' | 'api' = 'start',
): Promise<ServiceProcess> {
  const { said, ...process } = await startMain(command, options, /Wharf is at (\S+)/)
  return { ...process, url: said, root: createApiClient(said, ROOT_TOKEN) }
}

/** Starts a built worker in a process of its own, and waits until it works on jobs. */
export const startWorkerOf = (options: MainOptions): Promise<MainProcess> =>
  startMain('worker', options, /(Wharf works on jobs)/)

/** @returns also what the first group of `ready` has found in what the process says. */
async function startMain(
  command: string,
  { databaseUrl, dataDir, environment }: MainOptions,
  ready: RegExp,
): Promise<MainProcess & { readonly said: string }> {
  const child = spawn(process.execPath, [MAIN, command], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      WHARF_DATA_DIR: dataDir,
      WHARF_ROOT_TOKEN: ROOT_TOKEN,
      WHARF_SECRET_KEY: SECRET_KEY,
      WHARF_PORT: '0',
      WHARF_LOG_LEVEL: 'warn',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const said = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const [, found] = ready.exec(output) ?? []
      if (found) resolve(found)
    })
    child.once('exit', () => reject(new Error(`the service ended: ${output}`)))
  })
  return {
    pid: child.pid ?? 0,
    said,
    log: () => output,
    async kill(signal) {
      child.kill(signal)
      await ended
      return child.exitCode
    },
  }
}
