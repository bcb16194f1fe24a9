import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { bundled } from './bundled.ts'
import { PROCESS_FLAGS } from './node-flags.ts'

/** A folder that every user may enter, and that is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))
  await chmod(folder, 0o755)
  return folder
}

export interface ScriptOptions {
  readonly args: readonly string[]
  /** The user that it runs as; without it, our own. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
  /** How large its files may become, in blocks of 512 bytes. */
  readonly fileBlocks?: number
  /** A script of this folder that is loaded before it. */
  readonly preload?: string
}

export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** All of standard error. */
  readonly errorOutput: string
}

export interface ScriptProcess {
  readonly pid: number
  readonly ended: Promise<ProcessEnd>
  /** The next line of standard output; rejects, with standard error, where the process ends before. */
  nextLine(): Promise<string>
  /** Writes a line to its standard input. */
  say(line: string): void
  /** Sends a signal to it, or to its whole process group as a terminal does, and waits for its end. */
  kill(signal: NodeJS.Signals, to?: 'process' | 'group'): Promise<void>
}

/** Runs a script of this folder in a Node.js process of its own, which is killed after the test. */
export async function runScript(
  name: string,
  { args, user, preload, fileBlocks }: ScriptOptions,
): Promise<ScriptProcess> {
  const imports = preload ? ['--import', new URL(preload, import.meta.url).href] : []
  const limit = fileBlocks === undefined ? ':' : `ulimit -f ${fileBlocks}`
  const command = [process.execPath, ...PROCESS_FLAGS, ...imports, bundled(name), ...args]
  const child = spawn('sh', ['-c', `${limit}; exec "$@"`, name, ...command], { ...user, detached: true })
  const closed = once(child, 'close')
  let errorOutput = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errorOutput += chunk.toString()
  })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  await once(child, 'spawn')
  const { pid } = child
  if (pid === undefined) throw new Error(`${name} has no pid`)
  return {
    pid,
    ended: closed.then(() => ({ code: child.exitCode, signal: child.signalCode, errorOutput })),
    nextLine: lineReader(name, child, () => errorOutput),
    say: (line) => child.stdin.write(`${line}\n`),
    async kill(signal, to = 'process') {
      process.kill(to === 'group' ? -pid : pid, signal)
      await closed
    },
  }
}

function lineReader(name: string, child: ChildProcess, errorOutput: () => string): () => Promise<string> {
  if (!child.stdout) throw new Error(`${name} has no pipe`)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return async () => {
    const line = await lines.next()
    if (line.done) throw new Error(`${name} ended: ${errorOutput()}`)
    return line.value
  }
}

/** The pid of a process that has ended. */
export async function endedPid(): Promise<number> {
  const script = await runScript('run-data-folder-lock', { args: ['.'] })
  await script.kill('SIGKILL')
  return script.pid
}
