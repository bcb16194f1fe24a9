import type { ErrorCode } from '../errors.ts'

export const EXIT = { done: 0, failed: 1, wrongUse: 2, incomplete: 3, interrupted: 130 } as const

/** What another way to call the command, or another configuration, would have avoided. */
const WRONG_USE: ReadonlySet<ErrorCode> = new Set(['CONFIG_INVALID', 'WRONG_USE'])

/** What an expected failure is to a shell. */
export function exitCodeOf(code: ErrorCode): number {
  if (code === 'INCOMPLETE') return EXIT.incomplete
  return WRONG_USE.has(code) ? EXIT.wrongUse : EXIT.failed
}

/** What each exit status means, for `--help`. */
export const EXIT_HELP =
  'Exit status: 0 done, 1 failed, 2 wrong use, 3 rows are missing (--allow-incomplete accepts that), 130 interrupted.'
