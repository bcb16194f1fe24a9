import { AppError, type Fault } from '../errors.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { maskSecrets } from './mask.ts'
import { RemoteProblem } from './remote-problem.ts'
import { printable } from './terminal/printable.ts'

export interface Failure {
  /** One or several lines, without tokens and without anything that a terminal would obey. */
  readonly text: string
  /** The same for programs. */
  readonly json: { readonly error: FailureJson }
  readonly exitCode: number
}

interface FailureJson {
  /** As `docs/errors.md` has it: the server's own where a server refused. */
  readonly code: string
  readonly detail: string
  readonly errors: readonly Fault[]
}

/** Says what was thrown in the words of the command line: a message for what was expected, a stack for a bug. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof AppError) {
    const code = codeOf(thrown)
    // By which docs/errors.md says what to do; of wrong use, the message does.
    const suffix = code === 'WRONG_USE' ? '' : ` (${printable(code)})`
    const lines = [`error: ${printable(thrown.message)}${suffix}`, ...faultLines(thrown)]
    const json = toJson(code, thrown.message, thrown.faults)
    return { text: maskSecrets(lines.join('\n')), json, exitCode: exitCodeOf(thrown.code) }
  }
  if (isSystemError(thrown)) {
    const json = toJson('FILE_FAILED', thrown.message)
    return { text: maskSecrets(`error: ${printable(thrown.message)}`), json, exitCode: EXIT.failed }
  }
  const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
  const said = 'an unexpected error occurred'
  return { text: maskSecrets(`error: ${said}\n${stack}`), json: toJson('INTERNAL', said), exitCode: EXIT.failed }
}

const toJson = (code: string, detail: string, faults: readonly Fault[] = []): Failure['json'] => ({
  error: {
    code,
    detail: maskSecrets(detail),
    errors: faults.map((fault) => ({ ...fault, detail: maskSecrets(fault.detail) })),
  },
})

/** What a server refused may have been put in other words on its way here. */
function codeOf(error: AppError): string {
  const { cause } = error
  if (error instanceof RemoteProblem) return error.remoteCode ?? error.code
  return error.code === 'REMOTE_FAILED' && cause instanceof AppError ? codeOf(cause) : error.code
}

/** A fault that the message has said already is not said again. */
const faultLines = ({ message, faults }: AppError): string[] =>
  faults.filter(({ detail }) => !message.includes(detail)).map((fault) => `  ${printable(faultText(fault))}`)

function faultText({ pointer, line, detail }: Fault): string {
  if (line !== undefined) return `line ${line}: ${detail}`
  // As a field is called, not as a pointer of JSON writes it.
  return pointer ? `${pointer.slice(1).replaceAll('/', '.')}: ${detail}` : detail
}

/** What the operating system refused: a full disk, a missing right. No bug, and its message names the file. */
const isSystemError = (thrown: unknown): thrown is Error => thrown instanceof Error && 'syscall' in thrown
