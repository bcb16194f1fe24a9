import { useState } from 'preact/hooks'
import { detailOfError } from './client.ts'

/** What a button does, one at a time. */
export interface Action {
  readonly isBusy: boolean
  /** Why the last one failed, until the next begins. */
  readonly failure: string | undefined
  readonly act: (action: () => Promise<unknown>) => void
}

export function useAction(): Action {
  const [failure, setFailure] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const run = async (action: () => Promise<unknown>): Promise<void> => {
    setBusy(true)
    setFailure(undefined)
    await action().catch((error: unknown) => setFailure(detailOfError(error)))
    setBusy(false)
  }
  return { isBusy, failure, act: (action) => void run(action) }
}
