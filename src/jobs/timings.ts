/** How often, and after how long, in milliseconds. Tests make them short. */
export interface JobTimings {
  /** Between two signs of life of an attempt, at each of which it learns whether it is to end. */
  readonly heartbeatMs: number
  /** Without a sign of life, after which an attempt is taken for dead; it takes itself for dead then, too. */
  readonly leaseMs: number
  /** Between two looks at whether a token still may have what is being done, or sent, for it. */
  readonly authorisationMs: number
  readonly sweepMs: number
  /** Between two looks at which schedules are due. */
  readonly scheduleMs: number
  /** How long the queue takes a job for being worked on without hearing of it. */
  readonly lockMs: number
  /** Between the queue's looks for such jobs. */
  readonly stalledMs: number
  /** How long work may go on when the process is to stop, before it is given back. */
  readonly graceMs: number
  /** Between two looks at whether a job has changed that somebody waits for. */
  readonly watchMs: number
  /** Between two signs of life on a stream of events, at each of which its token is looked at again. */
  readonly eventsMs: number
  /** How long a worker's event loop may hang, or an open connection of it be silent, before its process ends itself. */
  readonly hangMs: number
  /** Before a job that failed for a reason that may pass is tried again, by how often it was tried. */
  readonly retryMs: readonly number[]
  /** Before a job whose project has no session to spare is tried again. */
  readonly busyMs: number
  /** For how long after it was first begun that uses none of its attempts up. */
  readonly busyForMs: number
}

export const JOB_TIMINGS: JobTimings = {
  heartbeatMs: 700,
  leaseMs: 20_000,
  authorisationMs: 5_000,
  sweepMs: 10_000,
  scheduleMs: 1_000,
  lockMs: 30_000,
  stalledMs: 10_000,
  graceMs: 8_000,
  watchMs: 250,
  eventsMs: 15_000,
  hangMs: 30_000,
  retryMs: [2_000, 10_000, 30_000],
  busyMs: 60_000,
  busyForMs: 15 * 60_000,
}
