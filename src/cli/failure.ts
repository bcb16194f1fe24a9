import { AppError, type Fault } from '../errors.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { maskSecrets } from './mask.ts'
import { printable } from './terminal/printable.ts'

export interface Failure {
  /** One or several lines, without tokens and without anything that a terminal would obey. */
  readonly text: string
  readonly exitCode: number
}

/** Says what was thrown in the words of the command line: a message for what was expected, a stack for a bug. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof AppError) {
    const lines = [`error: ${printable(thrown.message)}`, ...faultLines(thrown)]
    return { text: maskSecrets(lines.join('\n')), exitCode: exitCodeOf(thrown.code) }
  }
  if (isSystemError(thrown)) return { text: maskSecrets(`error: ${printable(thrown.message)}`), exitCode: EXIT.failed }
  const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
  return { text: maskSecrets(`error: an unexpected error occurred\n${stack}`), exitCode: EXIT.failed }
}

/** A fault that the message has said already is not said again. */
const faultLines = ({ message, faults }: AppError): string[] =>
  faults.filter(({ detail }) => !message.includes(detail)).map((fault) => `  ${printable(faultText(fault))}`)

function faultText({ pointer, line, detail }: Fault): string {
  if (line !== undefined) return `line ${line}: ${detail}`
  return pointer === undefined || pointer === '' ? detail : `${pointer}: ${detail}`
}

/** What the operating system refused: a full disk, a missing right. No bug, and its message names the file. */
const isSystemError = (thrown: unknown): thrown is Error => thrown instanceof Error && 'syscall' in thrown
