import type { CommandContext } from '../environment.ts'

/** A command's work. @returns the exit code. */
type Work<A extends unknown[]> = (context: CommandContext, ...args: A) => Promise<number>

/**
 * Makes of a command's work what commander calls, with the arguments and the options that it has read.
 *
 * @param load called only when the command runs, so that `--help` loads nothing that it does not need.
 */
export type Run = <A extends unknown[]>(load: () => Promise<Work<A>>) => (...args: A) => Promise<void>
