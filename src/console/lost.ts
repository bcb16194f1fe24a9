import { createContext } from 'preact'
import { useCallback, useRef, useState } from 'preact/hooks'
import { RequestError } from './client.ts'

/** Says whether what reads something of a page waits for Wharf to answer again. */
export type ReportLost = (reader: object, isLost: boolean) => void

/** The page around a view says it, once for all that the view reads. */
export const Lost = createContext<ReportLost>(() => undefined)

/** Whether Wharf does not answer, or what is before it says so. */
export const isLost = (error: unknown): boolean => error instanceof RequestError && [0, 502, 504].includes(error.status)

/** @returns whether anything of the page waits for Wharf, and how that is reported. */
export function useLost(): readonly [isLost: boolean, report: ReportLost] {
  const readers = useRef(new Set<object>()).current
  const [isWaiting, setWaiting] = useState(false)
  const report = useCallback<ReportLost>((reader, isWaitingNow) => {
    if (isWaitingNow) readers.add(reader)
    else readers.delete(reader)
    setWaiting(readers.size > 0)
  }, [])
  return [isWaiting, report]
}
