import { availableParallelism } from 'node:os'

/** More processors than these would wait for the one that makes, or reads, the archive. */
const MOST = 4

/**
 * How many sessions read one database side by side where nobody says: as many as the machine has processors, up to 4. One, where the
 * export is slowed down so that others are not disturbed: they wait for fewer processes then (`npm run bench -- application`).
 */
export const usualJobs = ({ maxBytesPerSecond }: { readonly maxBytesPerSecond?: number }): number =>
  maxBytesPerSecond === undefined ? Math.min(availableParallelism(), MOST) : 1

/** How many load one stage: one more, since each waits for the disk at the end of every index. */
export const usualLoads = (): number => Math.min(availableParallelism() + 1, MOST)
