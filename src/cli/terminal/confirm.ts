import { createInterface } from 'node:readline'
import { wrongUse } from '../../errors.ts'
import type { CommandContext } from '../environment.ts'
import { writeText } from './write.ts'

export interface Confirmation {
  /** Whether the answer was given on the command line. */
  readonly yes?: boolean
}

/** @throws {AppError} WRONG_USE where nobody can be asked: to be called before anything is done. */
export function assertCanConfirm({ environment }: CommandContext, { yes }: Confirmation): void {
  if (yes || environment.stdin.isTTY) return
  throw wrongUse('this asks for confirmation, but standard input is not a terminal: confirm with --yes')
}

/**
 * Says what is about to happen, and asks whether it shall.
 *
 * @param consequence what is lost, as a sentence; shown also where `yes` answers the question.
 * @returns false for anything but yes, also for the end of input.
 */
export async function confirm(context: CommandContext, consequence: string, { yes }: Confirmation): Promise<boolean> {
  const { stdin, stderr } = context.environment
  await writeText(stderr, `${consequence}\n`)
  if (yes) return true
  await writeText(stderr, 'go on? [y/N] ')
  // Readline would wait for an end that has been.
  if (stdin.readableEnded) return false
  // Without `terminal`, Ctrl-C stays a signal instead of becoming a key.
  const lines = createInterface({ input: stdin, terminal: false, signal: context.signal })
  try {
    for await (const line of lines) return /^\s*y(es)?\s*$/i.test(line)
  } finally {
    // Leaving the loop alone would go on reading, so that the process would never end.
    lines.close()
  }
  context.signal.throwIfAborted()
  return false
}
