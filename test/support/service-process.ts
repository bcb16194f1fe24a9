import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type ApiClient, createApiClient } from './api-client.ts'
import { ROOT_TOKEN } from './wharf.ts'

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/** With which such a service reads the passwords that another has kept. */
export const SECRET_KEY = 'secret-key-of-the-tests-with-many-characters'

export interface ServiceProcess {
  readonly pid: number
  readonly url: string
  readonly root: ApiClient
  kill(signal: NodeJS.Signals): Promise<void>
}

/** Starts the built service in a process of its own, and waits until it answers. */
export async function startServiceProcess(options: {
  readonly databaseUrl: string
  readonly dataDir: string
}): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [MAIN, 'start'], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: options.databaseUrl,
      WHARF_DATA_DIR: options.dataDir,
      WHARF_ROOT_TOKEN: ROOT_TOKEN,
      WHARF_SECRET_KEY: SECRET_KEY,
      WHARF_PORT: '0',
      WHARF_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      const [, found] = /Wharf is at (\S+)/.exec(said) ?? []
      if (found) resolve(found)
    })
    child.once('exit', () => reject(new Error(`the service ended: ${said}`)))
  })
  return {
    pid: child.pid ?? 0,
    url,
    root: createApiClient(url, ROOT_TOKEN),
    async kill(signal) {
      child.kill(signal)
      await ended
    },
  }
}
