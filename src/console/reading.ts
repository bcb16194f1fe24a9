import { createContext } from 'preact'
import { useCallback, useRef, useState } from 'preact/hooks'
import { RequestError } from './client.ts'

/** Says whether something is so of what reads for a page. */
export type Report = (reader: object, isSo: boolean) => void

/** What a page says around a view, once for all that the view reads. */
export interface Reading {
  /** Whether a reader waits for Wharf to answer again. */
  readonly reportLost: Report
  /** Whether a reader has nothing to show yet. */
  readonly reportEmpty: Report
}

export const Readings = createContext<Reading>({ reportLost: () => undefined, reportEmpty: () => undefined })

/** Whether Wharf does not answer, or what is before it says so. */
export const isLost = (error: unknown): boolean => error instanceof RequestError && [0, 502, 504].includes(error.status)

/** @returns whether it is so of any reader, and how that is reported. */
export function useReports(): readonly [isAny: boolean, report: Report] {
  const readers = useRef(new Set<object>()).current
  const [isAny, setAny] = useState(false)
  const report = useCallback<Report>((reader, isSo) => {
    if (isSo) readers.add(reader)
    else readers.delete(reader)
    setAny(readers.size > 0)
  }, [])
  return [isAny, report]
}
