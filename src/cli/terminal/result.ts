import pc from 'picocolors'
import type { CliEnvironment } from '../environment.ts'
import { toFileRefusal } from '../file-refusal.ts'
import { printableJson } from './printable.ts'
import { print } from './write.ts'

export interface ResultOptions {
  /** Whether a program reads the result. */
  readonly json?: boolean
}

/** The same result twice: as one JSON object, and for people. */
export interface Result {
  readonly json: object
  readonly text: (style: { readonly colors: boolean }) => string
}

/** Prints a command's result to standard output. @throws {AppError} FILE_FAILED where that is a file on a full disk. */
export function printResult({ stdout }: CliEnvironment, { json }: ResultOptions, result: Result): Promise<void> {
  const colors = pc.isColorSupported && stdout.isTTY === true
  return print(stdout, json ? printableJson(result.json) : result.text({ colors })).catch((error: unknown) => {
    throw toFileRefusal(error, 'standard output', 'write')
  })
}
