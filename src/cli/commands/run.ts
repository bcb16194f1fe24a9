import type { CommandContext } from '../environment.ts'

/** A command's work. @returns the exit code. */
export type Work<A extends unknown[]> = (context: CommandContext, ...args: A) => Promise<number>

/** Makes of a command's work what commander calls, with the arguments and the options that it has read. */
export type Run = <A extends unknown[]>(work: Work<A>) => (...args: A) => Promise<void>
