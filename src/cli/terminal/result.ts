import pc from 'picocolors'
import type { CliEnvironment, CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { throwFileFailure } from '../file-failure.ts'
import { type Confirmation, confirm } from './confirm.ts'
import { printableJson } from './printable.ts'
import { print } from './write.ts'

export interface ResultOptions {
  /** Whether a program reads the result. */
  readonly json?: boolean
}

/** The same for a command that shows how far it is. */
export interface ReportOptions extends ResultOptions {
  readonly quiet?: boolean
}

/** The same result twice: as one JSON object, and for people. */
export interface Result {
  readonly json: object
  readonly text: (style: { readonly colors: boolean }) => string
}

/**
 * Prints a command's result to standard output.
 *
 * @returns the exit code of a command that is done.
 * @throws {AppError} FILE_FAILED where standard output is a file on a full disk.
 */
export async function printResult(
  { environment: { stdout } }: { readonly environment: Pick<CliEnvironment, 'stdout'> },
  { json }: ResultOptions,
  result: Result,
): Promise<number> {
  const colors = pc.isColorSupported && stdout.isTTY === true
  await print(stdout, json ? printableJson(result.json) : result.text({ colors })).catch(
    throwFileFailure('standard output', 'write'),
  )
  return EXIT.done
}

/** Does what a command is for, and prints its result, once its consequence is confirmed. @returns the exit code. */
export async function onceConfirmed(
  context: CommandContext,
  consequence: string,
  options: ResultOptions & Confirmation,
  work: () => Promise<Result>,
): Promise<number> {
  if (!(await confirm(context, consequence, options))) return EXIT.failed
  return printResult(context, options, await work())
}
