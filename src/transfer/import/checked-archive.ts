import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import type { PlannedProject } from './archive-plan.ts'
import type { LoadAhead } from './load-ahead.ts'
import type { ByteRange } from './spool-file.ts'

/** An archive that has been read through once and found whole. */
export interface CheckedArchive {
  readonly projects: readonly PlannedProject[]
  /** Reads what its plan says is there: the rows of a part, the events of a project. */
  read(range: ByteRange, signal: AbortSignal): AsyncIterable<BorrowedBytes>
  /** What of it has been loaded while it was read. */
  readonly ahead?: LoadAhead
}
