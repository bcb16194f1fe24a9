import type { RowsPolicy } from '../../archive/assert-rows.ts'
import { refusesField } from '../../contract/problem.ts'
import { isAppError } from '../../errors.ts'

/** How another server is to make an archive. */
export interface RemoteExportPolicy extends RowsPolicy {
  /** As of an export here. Servers of earlier versions refuse it. */
  readonly maxBytesPerSecond?: number | undefined
}

/** Asks another server for an export. Earlier versions don't know `allowIncomplete`, and refuse nothing that lacks rows. */
export async function askForExport<T>(
  ask: (request: object) => Promise<T>,
  selection: object,
  { allowIncomplete, maxBytesPerSecond }: RemoteExportPolicy,
): Promise<T> {
  const request = { projects: [selection], ...(maxBytesPerSecond && { maxBytesPerSecond }) }
  if (!allowIncomplete) return ask(request)
  return ask({ ...request, allowIncomplete }).catch((error: unknown) => {
    if (isAppError(error) && refusesField(error.faults, 'allowIncomplete')) return ask(request)
    throw error
  })
}
