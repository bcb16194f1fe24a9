/** What we claim, each in one sentence, with its figure. The bench fails where one of them does not hold. */
export const BOUNDS = {
  exportTime: {
    sentence: 'A gzip export takes at most 1.15 times as long as COPY of the same rows as JSON, piped through gzip -1.',
    maxRatio: 1.15,
  },
  memory: {
    sentence: 'The service never takes more than 250 MB of memory for an export, however many rows there are.',
    maxBytes: 250_000_000,
  },
  memoryGrowth: {
    sentence: 'The memory for an export of ten times as many rows is the same within 20 %.',
    maxRatio: 1.2,
  },
} as const

export interface Finding {
  readonly sentence: string
  /** What was measured, for people. */
  readonly measured: string
  readonly holds: boolean
}
