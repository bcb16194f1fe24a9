import type { ErrorCode } from '../errors.ts'

export const EXIT = { done: 0, failed: 1, wrongUse: 2, interrupted: 130 } as const

/** What another way to call the command, or another configuration, would have avoided. */
const WRONG_USE: ReadonlySet<ErrorCode> = new Set(['CONFIG_INVALID', 'WRONG_USE'])

/** What an expected failure is to a shell. */
export const exitCodeOf = (code: ErrorCode): number => (WRONG_USE.has(code) ? EXIT.wrongUse : EXIT.failed)
