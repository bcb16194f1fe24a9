/** What we claim, each in one sentence, with its figure. The bench fails where one of them does not hold. */
export const BOUNDS = {
  exportTime: {
    sentence: 'A gzip export takes at most 0.75 times as long as COPY of the same rows as JSON, piped through gzip -1.',
    maxRatio: 0.75,
  },
  plainExportTime: {
    sentence: 'A plain export takes at most 1.1 times as long as COPY of the same rows as text to a file.',
    maxRatio: 1.1,
  },
  databaseGzip: {
    sentence: 'A gzip export of a database of 61 tables takes at most 1.1 times as long as pg_dump -Fc -Z1.',
    maxRatio: 1.1,
  },
  databaseZstd: {
    sentence: 'Where Node.js has zstd, an export of it with that takes at most 0.9 times as long as pg_dump -Fc -Z1.',
    maxRatio: 0.9,
  },
  databasePlain: {
    sentence:
      'A plain export of it takes at most 1.1 times as long as psql takes to copy its tables as text to a file.',
    maxRatio: 1.1,
  },
  databaseImport: {
    sentence: 'An import of it takes at most 0.8 times as long as pg_restore -1.',
    maxRatio: 0.8,
  },
  databaseParallelImport: {
    sentence: 'An import of it takes at most 1.15 times as long as pg_restore -j2.',
    maxRatio: 1.15,
  },
  memory: {
    sentence: 'The service never takes more than 280 MB of memory for an export, however many rows there are.',
    maxBytes: 280_000_000,
  },
  memoryGrowth: {
    sentence: 'The memory for an export of ten times as many rows is the same within 20 %.',
    maxRatio: 1.2,
  },
  sessionsMemory: {
    sentence: 'With four sessions that read side by side, an export takes at most 400 MB.',
    maxBytes: 400_000_000,
  },
  sessionsMemoryGrowth: {
    sentence: 'That is the same within 20 % for three or ten times as many rows.',
    maxRatio: 1.2,
  },
  importTime: {
    sentence:
      "An import takes at most 0.8 times as long as TRUNCATE and COPY of PostgreSQL's own text into a table with its keys.",
    maxRatio: 0.8,
  },
  readerWait: {
    sentence: 'Somebody who reads the old rows while an import runs never waits longer than 0.3 s.',
    maxMs: 300,
  },
  importMemory: {
    sentence: 'The service never takes more than 250 MB of memory for an import.',
    maxBytes: 250_000_000,
  },
  jobWorkerMemory: {
    sentence: 'An export job and an import job of 3 million rows keep the worker below 300 MB of memory.',
    maxBytes: 300_000_000,
  },
  jobApiMemory: {
    sentence: 'Such jobs, with the download and the upload of their archive, keep the API below 150 MB of memory.',
    maxBytes: 150_000_000,
  },
  writeCost: {
    sentence: 'A write takes at most twice as long with the event log as without it',
    maxRatio: 2,
  },
  writeCostInMemory: {
    sentence:
      'A write that does not wait for the disk takes at most 2.5 times as long with the event log as without it',
    maxRatio: 2.5,
  },
  unchanged: {
    sentence: 'Conditional reads are answered with 304 at 0.7 or more of the rate of a bare Express handler.',
    minRatio: 0.7,
  },
  cached: {
    sentence: 'Answers of 20 rows that are known are given at 0.6 or more of the rate of a bare Express handler.',
    minRatio: 0.6,
  },
  contentDelay: {
    sentence: "The slowest hundredth of either waits less than four times as long as the bare handler's.",
    maxRatio: 4,
  },
  newPages: {
    sentence:
      'Pages of 20 rows that nobody has asked for are given at 0.7 or more of the rate of a bare Express handler that runs the same prepared statement through pg.',
    minRatio: 0.7,
  },
  newRows: {
    sentence: 'The same goes for a row by its key.',
    minRatio: 0.7,
  },
  newDelay: {
    sentence: "The slowest hundredth of either waits less than twice as long as that handler's.",
    maxRatio: 2,
  },
  besideExport: {
    sentence:
      'While the same process exports, 304s and cached answers come at 0.8 or more of the rate that they have while COPY | gzip -1 of the same rows runs beside an idle service.',
    minRatio: 0.8,
  },
  besideExportDelay: {
    sentence: 'The slowest hundredth of them waits less than 50 ms.',
    maxMs: 50,
  },
  applicationWait: {
    sentence:
      "While Wharf exports, the slowest hundredth of an application's own queries waits at most 2.5 times as long as while pg_dump | gzip -1 of the same rows runs.",
    maxRatio: 2.5,
  },
  applicationWaitSlowed: {
    sentence:
      "While Wharf exports 20 MB/s, the slowest hundredth of an application's own queries waits no longer than while pg_dump | gzip -1 of the same rows runs.",
    maxRatio: 1,
  },
  mixed: {
    sentence:
      'While 200 connections read and write, and an export, an import and a transfer of the same rows run again and again, nothing fails but writes with 409 during an import.',
  },
  mixedDelay: {
    sentence: 'The slowest hundredth of the 304s among them waits less than 100 ms.',
    maxMs: 100,
  },
  mixedMemory: {
    sentence: 'The memory of the service is the same within 20 % before such a minute and after it.',
    maxRatio: 1.2,
  },
  scalingModel: {
    sentence: 'Exports take what the model says, from the processor time of one, within 20 %.',
    maxOff: 0.2,
  },
  smallJobs: {
    sentence:
      'Small exports as jobs take at most twice as long as the same exports asked for with clients that wait, as many at once.',
    maxRatio: 2,
  },
  year: {
    sentence:
      'After a year with 50 projects and 200 schedules, lists, sweeps, metrics and starts take at most a second each.',
    maxSeconds: 1,
  },
  consolePaint: {
    sentence:
      'On a phone of a quarter of the speed, with 1.6 Mbit/s and a delay of 150 ms, the first view of the console is painted within a second.',
    maxMs: 1_000,
  },
  consoleBytes: {
    sentence: 'The first view of the console takes at most 150 kB.',
    maxBytes: 150_000,
  },
  consoleTasks: {
    sentence: 'On that phone, nothing that it does on its first view blocks the page for longer than 200 ms.',
    maxMs: 200,
  },
  consoleViews: {
    sentence:
      'With a thousand projects, ten thousand jobs and a table of a million rows, each view of the console is there within a second.',
    maxMs: 1_000,
  },
  oneArchiveEach: {
    sentence: 'Of many small exports that three workers share, each has succeeded once and has one archive.',
  },
} as const

export interface Measurement {
  readonly sentence: string
  /** What was measured, for people. */
  readonly measured: string
  readonly holds: boolean
}
