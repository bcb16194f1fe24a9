import { on } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { ReadStream } from 'node:tty'
import { wrongUse } from '../../errors.ts'
import type { CliEnvironment } from '../environment.ts'
import { printable } from './printable.ts'
import { writeText } from './write.ts'

/** What the keys send that mean something to a line that is typed. */
const KEY = { interrupt: '\u0003', end: '\u0004', backspace: '\b', delete: '\u007f', clear: '\u0015' } as const

/** A terminal that shows what is typed, unless it is told not to. */
type Terminal = Readable & { setRawMode?(isRaw: boolean): unknown }

/** What asking needs of a command's context. */
interface Asking {
  readonly environment: Pick<CliEnvironment, 'stdin' | 'stderr'>
  readonly signal: AbortSignal
}

/**
 * Asks for a password on the terminal, which does not show it: on standard input, or where something else is piped into
 * that, on the terminal that the command was started from.
 *
 * @param name of whatever asks for it. @param remedy what helps where there is no terminal. @param what it is.
 * @throws {AppError} WRONG_USE where there is no terminal. What Ctrl-C interrupts is over as by any other Ctrl-C.
 */
export async function askPassword(
  { environment: { stdin, stderr }, signal }: Asking,
  name: string,
  remedy = 'PGPASSWORD or a password file (~/.pgpass) can hold it',
  what = 'password',
): Promise<string> {
  const opened = stdin.isTTY ? undefined : openTerminal(stdin)
  const terminal: Terminal | undefined = stdin.isTTY ? stdin : opened
  if (!terminal) {
    throw wrongUse(`${name} asks for a ${what}, and there is no terminal to ask on: ${remedy}`)
  }
  // Before anybody is asked to type.
  terminal.setRawMode?.(true)
  try {
    await writeText(stderr, `${what} for ${printable(name)}: `)
    return await readHidden(terminal, signal)
  } finally {
    terminal.setRawMode?.(false)
    terminal.pause()
    opened?.destroy()
    await writeText(stderr, '\n')
  }
}

/** Only for the process's own standard input: what somebody else hands in says that there is no terminal. */
function openTerminal(stdin: Readable): ReadStream | undefined {
  if (stdin !== process.stdin || process.platform === 'win32') return undefined
  let file: number | undefined
  try {
    file = openSync('/dev/tty', 'r+')
    return new ReadStream(file)
  } catch {
    // A process of a timer or a service has none.
    if (file !== undefined) closeSync(file)
    return undefined
  }
}

async function readHidden(terminal: Readable, signal: AbortSignal): Promise<string> {
  const decoder = new StringDecoder('utf8')
  let typed: string[] = []
  for await (const [chunk] of on(terminal, 'data', { signal, close: ['end', 'close'] })) {
    for (const key of decoder.write(chunk)) {
      if (key === '\r' || key === '\n' || key === KEY.end) return typed.join('')
      // A terminal that hides what is typed makes no signal of it. The one who listens for it aborts `signal`.
      if (key === KEY.interrupt) process.kill(process.pid, 'SIGINT')
      else if (key === KEY.backspace || key === KEY.delete) typed.pop()
      else if (key === KEY.clear) typed = []
      else if (key >= ' ') typed.push(key)
    }
  }
  return typed.join('')
}
