import { formatBytes, formatCount, formatSeconds } from '../../lib/units.ts'
import type { CommandContext } from '../environment.ts'
import { printable } from './printable.ts'

/** Often enough to look alive, seldom enough to cost nothing. */
const TERMINAL_INTERVAL_MS = 100
const PLAIN_INTERVAL_MS = 10_000

const DEFAULT_COLUMNS = 80
const ERASE_LINE = '\r\x1b[K'

/** How far a transfer is; the code that does it counts up. */
export interface TransferProgress {
  /** The table whose rows come now. */
  table: string
  rows: number
  /** Bytes as they are transferred, compressed or not. */
  bytes: number
  /** How many rows there will be, about; undefined where nobody knows. */
  rowsExpected: number | undefined
}

export const createTransferProgress = (): TransferProgress => ({
  table: '',
  rows: 0,
  bytes: 0,
  rowsExpected: undefined,
})

/** How much of a file has been sent or read; the code that does it counts up. */
export interface FileProgress {
  bytes: number
  /** Undefined where nobody knows. */
  readonly bytesTotal: number | undefined
  /** What is waited for, once all bytes are through, e.g. `loading`. */
  waitingFor: string | undefined
}

/**
 * Shows how far some work is while it goes on: one line that is rewritten on a terminal and erased at the end, a line
 * every 10 seconds elsewhere, nothing where it shall be quiet.
 *
 * @param line says it, after so many seconds.
 */
export async function showProgress<T>(
  { environment: { stderr } }: CommandContext,
  { quiet, line }: { readonly quiet: boolean | undefined; readonly line: (seconds: number) => string },
  work: () => Promise<T>,
): Promise<T> {
  if (quiet) return work()
  const startedAt = performance.now()
  const currentLine = (): string => printable(line((performance.now() - startedAt) / 1000))
  const append = () => stderr.write(`${currentLine()}\n`)
  const redraw = () => stderr.write(`${ERASE_LINE}${currentLine().slice(0, (stderr.columns || DEFAULT_COLUMNS) - 1)}`)
  const timer = stderr.isTTY ? setInterval(redraw, TERMINAL_INTERVAL_MS) : setInterval(append, PLAIN_INTERVAL_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    if (stderr.isTTY) stderr.write(ERASE_LINE)
  }
}

/** `album  12,345 rows  3.4 MB  12.1 MB/s  45 %  0:12 left` */
export function progressLine(progress: Readonly<TransferProgress>, seconds: number): string {
  const { table, rows, bytes, rowsExpected } = progress
  const parts = [printable(table), `${formatCount(rows)} rows`, formatBytes(bytes), formatRate(bytes, seconds)]
  return [...parts, ...shareParts(rows, rowsExpected, seconds)].filter((part) => part !== '').join('  ')
}

/** `3.4 MB of 7.5 MB  12.1 MB/s  45 %  0:12 left`, then `loading…  7.5 MB  1:23` */
export function fileProgressLine(progress: Readonly<FileProgress>, seconds: number): string {
  const { bytes, bytesTotal, waitingFor } = progress
  if (waitingFor !== undefined) return [`${waitingFor}…`, formatBytes(bytes), formatSeconds(seconds)].join('  ')
  const amount = bytesTotal === undefined ? formatBytes(bytes) : `${formatBytes(bytes)} of ${formatBytes(bytesTotal)}`
  return [amount, formatRate(bytes, seconds), ...shareParts(bytes, bytesTotal, seconds)].join('  ')
}

const formatRate = (bytes: number, seconds: number): string => `${formatBytes(seconds > 0 ? bytes / seconds : 0)}/s`

/** The share that is done and the time that is left, where it is known how much there is. */
function shareParts(done: number, expected: number | undefined, seconds: number): readonly string[] {
  if (expected === undefined || expected === 0) return []
  // What is expected may be an estimate and too low, and the end is only known when it is there.
  const share = Math.min(done / expected, 0.99)
  const left = share > 0 ? [`${formatSeconds((seconds * (1 - share)) / share)} left`] : []
  return [`${Math.floor(share * 100)} %`, ...left]
}
