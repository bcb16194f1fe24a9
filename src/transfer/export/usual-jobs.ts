import { availableParallelism } from 'node:os'

/** More processors than these would wait for the one that makes, or reads, the archive. */
const MOST = 4

/** How many sessions read one database side by side where nobody says: as many as the machine has processors, up to 4. */
export const usualJobs = (): number => Math.min(availableParallelism(), MOST)

/** How many load one stage: one more, since each waits for the disk at the end of every index. */
export const usualLoads = (): number => Math.min(availableParallelism() + 1, MOST)
