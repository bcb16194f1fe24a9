import { isAppError } from '../errors.ts'
import { maskPasswords } from '../lib/mask-passwords.ts'
import { within } from '../lib/within.ts'

/** How long one check may take, in milliseconds. */
const CHECK_MS = 30_000

/** `fault`: something does not work, or will not; `warning`: it works, and something should be done; `skipped`: see `detail`. */
export type CheckStatus = 'ok' | 'warning' | 'fault' | 'skipped'

/** What a check has found. */
export interface Checked {
  /** What was looked at. */
  readonly name: string
  readonly status: CheckStatus
  /** What there is; where something is wrong, what it is and what to do. */
  readonly detail: string
}

/** What a check says, without its name. */
type Said = Omit<Checked, 'name'>

export const ok = (detail: string): Said => ({ status: 'ok', detail })
export const warning = (detail: string): Said => ({ status: 'warning', detail })
export const fault = (detail: string): Said => ({ status: 'fault', detail })
export const skipped = (detail: string): Said => ({ status: 'skipped', detail })

/**
 * Looks at one thing. Whatever is thrown is a fault of what was looked at.
 *
 * @param advice what to do about what was thrown, where that does not say it itself.
 */
export async function check(name: string, advice: string, look: () => Promise<Said>): Promise<Checked> {
  try {
    const late = (): Said => fault(`no answer within ${CHECK_MS / 1_000} s: ${advice}`)
    return { name, ...(await within(CHECK_MS, look(), late)) }
  } catch (error) {
    return { name, ...fault(reasonOf(error, advice)) }
  }
}

/** What Wharf refuses with `DATABASE_UNSUITABLE` or `CONFIG_INVALID` says what to do itself. */
function reasonOf(error: unknown, advice: string): string {
  if (isAppError(error, 'DATABASE_UNSUITABLE') || isAppError(error, 'CONFIG_INVALID')) {
    const details = error.faults.map(({ detail }) => detail).filter((detail) => !error.message.includes(detail))
    return [error.message, ...details].join('; ')
  }
  return `${sentenceOf(error)}: ${advice}`
}

/** In the words of whom it comes from, without passwords. */
export const sentenceOf = (error: unknown): string =>
  maskPasswords((error instanceof Error && error.message) || String(error))
