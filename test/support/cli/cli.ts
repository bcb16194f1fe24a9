import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { Readable, Writable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { inject, onTestFinished } from 'vitest'
import { readNpmOptions } from '../../../src/cli/npm-options.ts'
import { runCli } from '../../../src/cli/program.ts'
import { loadConfig } from '../../../src/config.ts'
import { readAddressEnvironment } from '../../../src/database/address/environment.ts'
import { PROGRAM } from '../processes/child.ts'
import { PROCESS_FLAGS } from '../processes/node-flags.ts'
import { assertConforms } from './conformance.ts'

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  /** Standard output as it came. */
  readonly bytes: Buffer
  readonly stderr: string
}

export interface CliOptions {
  /** Whether what is printed is held against its schema: not where it comes from a server that is none of Wharf's. */
  readonly conforms?: boolean
  readonly variables?: Readonly<Record<string, string>>
  /** What is typed, or piped, into standard input; several chunks come one after the other. */
  readonly input?: string | Buffer | readonly string[]
  /** Whether standard input is a terminal. */
  readonly terminal?: boolean
  /** Whether standard output is one. */
  readonly outputTerminal?: boolean
}

/** Runs a command in this process. The service is never started: these commands are about another server. */
export async function runCommand(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const [stdout, stderr] = [createCollector(), createCollector()]
  const code = await runCli(args, {
    loadConfig: async () => loadConfig(options.variables ?? {}),
    loadServiceConfig: async () => loadConfig(options.variables ?? {}),
    hasEnvironmentFile: false,
    startService: async () => Promise.reject(new Error('no service is to be started')),
    runService: async () => Promise.reject(new Error('no service is to be run')),
    readAddressEnvironment: async () =>
      readAddressEnvironment(options.variables ?? {}, (message) => stderr.stream.write(`note: ${message}\n`)),
    npmOptions: readNpmOptions(options.variables ?? {}),
    stdin: Object.assign(Readable.from(typed([options.input ?? ''].flat())), { isTTY: options.terminal ?? false }),
    stdout: Object.assign(stdout.stream, { isTTY: options.outputTerminal ?? false }),
    stderr: stderr.stream,
    version: '1.2.3',
  })
  const bytes = stdout.bytes()
  const result = { code, stdout: bytes.toString(), bytes, stderr: stderr.bytes().toString() }
  if (options.conforms !== false) assertConforms(args, result)
  return result
}

/** One after the other, each when there was time to take in the one before. */
async function* typed(chunks: readonly (string | Buffer)[]): AsyncGenerator<Buffer, void, undefined> {
  for (const chunk of chunks) {
    await setImmediate()
    yield Buffer.from(chunk)
  }
}

function createCollector(): { readonly stream: Writable; bytes(): Buffer } {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk)
      done()
    },
  })
  return { stream, bytes: () => Buffer.concat(chunks) }
}

export interface CliProcess {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  /** What the process has said when it has ended. */
  readonly ended: Promise<CliResult>
}

/** Runs the built program in a process of its own, with nothing of Wharf's in its environment but `variables`. */
export function spawnWharf(
  args: readonly string[],
  {
    cwd,
    variables = {},
    user,
    flags = PROCESS_FLAGS,
    node = process.execPath,
  }: {
    readonly cwd: string
    readonly variables?: Readonly<Record<string, string>>
    readonly user?: { readonly uid?: number; readonly gid?: number }
    /** Node.js's own options. */
    readonly flags?: readonly string[]
    /** The Node.js that runs it; by default that of the tests. */
    readonly node?: string
  },
): CliProcess {
  const env = { PATH: process.env.PATH, HOME: inject('home'), ...variables }
  const command = [...flags, PROGRAM, ...args]
  return watch(spawn(node, command, { ...user, cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }), args)
}

/** Runs a line of shell, in which `"$@"` is the built program. */
export function spawnShell(line: string): CliProcess {
  const env = { PATH: process.env.PATH, HOME: inject('home') }
  const args = ['-c', line, 'sh', process.execPath, ...PROCESS_FLAGS, PROGRAM]
  return watch(spawn('sh', args, { env, cwd: tmpdir(), stdio: ['ignore', 'pipe', 'pipe'] }))
}

/** @param args whose output is held against its schema; none for a line of shell, which may print anything. */
function watch(child: ChildProcessByStdio<null, Readable, Readable>, args: readonly string[] = []): CliProcess {
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  const collect = async (): Promise<CliResult> => {
    const [bytes, stderr] = await Promise.all([buffer(child.stdout).catch(() => Buffer.alloc(0)), text(child.stderr)])
    await closed
    const result = { code: child.exitCode, stdout: bytes.toString(), bytes, stderr }
    assertConforms(args, result)
    return result
  }
  return { child, ended: collect() }
}
