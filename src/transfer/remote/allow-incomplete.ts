import type { RowsPolicy } from '../../archive/assert-rows.ts'
import { refusesField } from '../../contract/problem.ts'
import { isAppError } from '../../errors.ts'

/** Asks with the policy. Servers of earlier versions don't know the field, and refuse nothing that lacks rows. */
export async function askWithPolicy<T>(
  ask: (request: object) => Promise<T>,
  request: object,
  { allowIncomplete }: RowsPolicy,
): Promise<T> {
  if (!allowIncomplete) return ask(request)
  return ask({ ...request, allowIncomplete }).catch((error: unknown) => {
    if (isAppError(error) && refusesField(error.faults, 'allowIncomplete')) return ask(request)
    throw error
  })
}
