/** How often, and after how long, in milliseconds. */
export const JOB_TIMINGS = {
  /** Between two signs of life of an attempt, at each of which it learns whether it is to end. */
  heartbeatMs: 700,
  /** Without a sign of life, after which an attempt is taken for dead; it takes itself for dead then, too. */
  leaseMs: 20_000,
  /** Between two looks at whether a token still may have what is being done, or sent, for it. */
  authorisationMs: 5_000,
  sweepMs: 10_000,
  /**
   * For how long a job loads before it commits what it has loaded, so that another attempt need not load it again: what takes
   * less is loaded in one transaction.
   */
  saveMs: 60_000,
  /** How long an export that a transfer has asked of another server may wait for a worker there. */
  remoteQueueMs: 60_000,
  /** Between two signs of life of a process. */
  signMs: 10_000,
  /** Between two looks at which schedules are due. */
  scheduleMs: 1_000,
  /** Between two looks at which notifications are to be sent. */
  notifyMs: 1_000,
  /** How long a notification belongs to the process that sends it: longer than that may take. */
  notifyLeaseMs: 60_000,
  /** How long the queue takes a job for being worked on without hearing of it. */
  lockMs: 30_000,
  /** Between the queue's looks for such jobs. */
  stalledMs: 10_000,
  /** Between two looks at whether trouble with the queue is over. */
  queueLookMs: 5_000,
  /** How long work may go on when the process is to stop, before it is given back. */
  graceMs: 8_000,
  /** Between two looks at whether a job has changed that somebody waits for. */
  watchMs: 250,
  /** Between two signs of life on a stream of events, at each of which its token is looked at again. */
  eventsMs: 15_000,
  /** How long a worker's event loop may hang, or an open connection of it be silent, before its process ends itself. */
  hangMs: 30_000,
  /** Before a job that failed for a reason that may pass is tried again, by how often it was tried. */
  retryMs: [2_000, 10_000, 30_000] as readonly number[],
  /** Before a job whose project has no session to spare is tried again. */
  busyMs: 60_000,
  /** For how long after it was first begun that uses none of its attempts up. */
  busyForMs: 15 * 60_000,
}

/** Tests make them short. */
export type JobTimings = Readonly<typeof JOB_TIMINGS>
