import type { StdioOptions } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '../../src/database/embedded/free-port.ts'
import { type Child, type HowEnded, PROGRAM, spawnChild, untilOutput } from '../../test/support/processes/child.ts'

/** Within which it must have started, once PostgreSQL and Redis are there. */
const START_LIMIT_MS = 120_000
const STOP_LIMIT_MS = 60_000

export const ROOT_TOKEN = 'root-token-of-the-chaos-with-many-characters'

export interface WharfProcess {
  readonly name: string
  /** Where an API listens, from one start to the next. */
  readonly url: string
  /** Starts it, again and again while PostgreSQL or Redis is away. */
  start(): Promise<void>
  kill(): Promise<void>
  /** Tells it to stop, and waits until it has. @throws where it ends with a code, or takes too long. */
  stop(): Promise<void>
  freeze(ms: number): Promise<void>
}

export interface WharfOptions {
  readonly name: string
  readonly part: 'api' | 'worker'
  /** An existing folder of this process alone, where its log goes. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  /** Instead of the compiled one. */
  readonly program?: string | undefined
  /** Told where the process ends although nobody ended it; it is started again then. */
  readonly onUnexpectedEnd: (how: string) => void
}

/** Node.js ends what it says of such an error with its own version. */
async function endedByUncaughtError(log: string): Promise<boolean> {
  return /\nNode\.js v\S+\n*$/.test(await readFile(log, 'utf8'))
}

/** A compiled API or worker in a process of its own, which can be ended and started again. */
export async function createWharfProcess(options: WharfOptions): Promise<WharfProcess> {
  const { name, part, folder, program = PROGRAM, onUnexpectedEnd } = options
  const port = await findFreePort()
  const env = {
    PATH: process.env.PATH,
    WHARF_DATA_DIR: folder,
    WHARF_ROOT_TOKEN: ROOT_TOKEN,
    WHARF_PORT: String(port),
    WHARF_LOG_LEVEL: 'info',
    ...options.environment,
  }
  let child: Child | undefined
  let isMeantToEnd = false

  /** @returns how it ended where it did not start. */
  const startOnce = async (): Promise<HowEnded | undefined> => {
    const log = openSync(join(folder, 'log'), 'a')
    const stdio: StdioOptions = ['ignore', 'pipe', log]
    const started = await spawnChild(process.execPath, [program, part], { cwd: folder, env, stdio })
    closeSync(log)
    isMeantToEnd = false
    const failure = await untilOutput(started)
    started.process.stdout?.resume()
    if (failure !== undefined) return failure
    child = started
    void started.ended.then((how) => {
      if (child !== started || isMeantToEnd) return
      onUnexpectedEnd(how)
      start().catch((error: unknown) => onUnexpectedEnd(String(error)))
    })
    return undefined
  }
  const start = async (): Promise<void> => {
    const until = Date.now() + START_LIMIT_MS
    for (;;) {
      const failure = await startOnce()
      if (failure === undefined) return
      if (await endedByUncaughtError(join(folder, 'log'))) onUnexpectedEnd(`${failure}, by an error that nobody caught`)
      if (Date.now() > until) throw new Error(`${name} did not start: ${failure}`)
      await sleep(500)
    }
  }
  const end = async (signal: NodeJS.Signals): Promise<string> => {
    isMeantToEnd = true
    child?.signal(signal)
    const limit = sleep(STOP_LIMIT_MS, 'took too long', { ref: false })
    return (await Promise.race([child?.ended, limit])) ?? 'never began'
  }

  return {
    name,
    url: `http://127.0.0.1:${port}`,
    start,
    async kill() {
      await end('SIGKILL')
    },
    async stop() {
      const how = await end('SIGTERM')
      if (how === 'exit code 0') return
      child?.signal('SIGKILL')
      throw new Error(`${name} was told to stop, and ended otherwise: ${how}`)
    },
    async freeze(ms) {
      child?.signal('SIGSTOP')
      await sleep(ms)
      child?.signal('SIGCONT')
    },
  }
}
