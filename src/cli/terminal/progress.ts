import type { CliEnvironment } from '../environment.ts'
import { printable } from './printable.ts'
import { formatBytes, formatCount, formatSeconds } from './units.ts'

/** Often enough to look alive, seldom enough to cost nothing. */
const TERMINAL_INTERVAL_MS = 100
const PLAIN_INTERVAL_MS = 10_000

const DEFAULT_COLUMNS = 80
const ERASE_LINE = '\r\x1b[K'

/** How far a transfer is; counted up by whoever does it. */
export interface TransferProgress {
  /** The table whose rows come now. */
  table: string
  rows: number
  /** Bytes as they are transferred, compressed or not. */
  bytes: number
  /** How many rows there will be, about; undefined where nobody knows. */
  rowsExpected: number | undefined
}

/**
 * Shows how far a transfer is until it is stopped: one line that is rewritten on a terminal, a line every 10 seconds
 * elsewhere, nothing where it shall be quiet.
 *
 * @returns stops it, and erases the line.
 */
export function showProgress(
  progress: Readonly<TransferProgress>,
  { stderr, quiet }: { readonly stderr: CliEnvironment['stderr']; readonly quiet: boolean },
): () => void {
  if (quiet) return () => undefined
  const startedAt = performance.now()
  const line = (): string => progressLine(progress, (performance.now() - startedAt) / 1000)

  if (!stderr.isTTY) {
    const timer = setInterval(() => stderr.write(`${line()}\n`), PLAIN_INTERVAL_MS)
    return () => clearInterval(timer)
  }
  const draw = () => stderr.write(`${ERASE_LINE}${line().slice(0, (stderr.columns ?? DEFAULT_COLUMNS) - 1)}`)
  const timer = setInterval(draw, TERMINAL_INTERVAL_MS)
  return () => {
    clearInterval(timer)
    stderr.write(ERASE_LINE)
  }
}

/** `album  12,345 rows  3.4 MB  12.1 MB/s  45 %  0:12 left` */
export function progressLine(progress: Readonly<TransferProgress>, seconds: number): string {
  const { table, rows, bytes, rowsExpected } = progress
  const rate = `${formatBytes(seconds > 0 ? bytes / seconds : 0)}/s`
  const parts = [printable(table), `${formatCount(rows)} rows`, formatBytes(bytes), rate]
  if (rowsExpected !== undefined && rowsExpected > 0) {
    // The estimate may be too low, and the end is only known when it is there.
    const share = Math.min(rows / rowsExpected, 0.99)
    parts.push(`${Math.floor(share * 100)} %`)
    if (share > 0) parts.push(`${formatSeconds((seconds * (1 - share)) / share)} left`)
  }
  return parts.filter((part) => part !== '').join('  ')
}
