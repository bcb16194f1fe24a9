import type { JobProgress } from '../contract/job.ts'

/** How far an attempt has come. It is updated at each step, and read now and then. */
export interface ProgressTracker {
  update(change: Partial<Omit<JobProgress, 'percent'>>): void
  addRows(rows: number): void
  addBytes(bytes: number): void
  current(): JobProgress
  /** What there is to say since it was last taken; null where nothing has changed. */
  take(): JobProgress | null
}

/** What earlier versions did not write down. */
export const NO_PARTS: Pick<JobProgress, 'parts' | 'partsBefore'> = { parts: 0, partsBefore: 0 }

/** Starts at nothing. */
export function trackProgress(phase: JobProgress['phase']): ProgressTracker {
  let state: Omit<JobProgress, 'percent'> = {
    ...{ phase, stage: null, table: null, rows: 0, rowsTotal: null, bytes: 0 },
    ...NO_PARTS,
  }
  let hasChanged = true
  const update = (change: Partial<Omit<JobProgress, 'percent'>>): void => {
    state = { ...state, ...change }
    hasChanged = true
  }
  const current = (): JobProgress => ({ ...state, percent: percentOf(state) })
  return {
    update,
    addRows: (rows) => update({ rows: state.rows + rows }),
    addBytes: (bytes) => update({ bytes: state.bytes + bytes }),
    current,
    take() {
      if (!hasChanged) return null
      hasChanged = false
      return current()
    },
  }
}

/** An estimate may be too low; what goes on is never at 100. */
function percentOf({ phase, rows, rowsTotal }: Omit<JobProgress, 'percent'>): number | null {
  if (rowsTotal === null || rowsTotal === 0 || phase === 'checking') return null
  return Math.min(99, Math.floor((100 * rows) / rowsTotal))
}
