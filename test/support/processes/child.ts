import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The built program, as it is delivered. */
export const PROGRAM = fileURLToPath(new URL('../../../dist/main.js', import.meta.url))

/** How a process ended, for people. */
export type HowEnded = string

export interface Child {
  readonly pid: number
  readonly process: ChildProcess
  readonly ended: Promise<HowEnded>
  hasEnded(): boolean
  signal(signal: NodeJS.Signals): void
}

export async function spawnChild(command: string, args: readonly string[], options: SpawnOptions): Promise<Child> {
  const child = spawn(command, args, options)
  await once(child, 'spawn')
  const { pid } = child
  if (pid === undefined) throw new Error(`${command} has no pid`)
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
  return {
    pid,
    process: child,
    ended: once(child, 'exit').then(([code, signal]) => (signal ? `signal ${signal}` : `exit code ${code}`)),
    hasEnded,
    signal(signal) {
      if (!hasEnded()) child.kill(signal)
    },
  }
}

/** Waits until a process writes to its standard output. @returns how it ended where it ended before. */
export async function untilOutput({ process: { stdout }, ended }: Child): Promise<HowEnded | undefined> {
  if (!stdout) throw new Error('the process has no pipe')
  return Promise.race([once(stdout, 'data').then(() => undefined), ended])
}
