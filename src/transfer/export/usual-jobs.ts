import { availableParallelism } from 'node:os'

/** More processors than these would wait for the one that makes the archive of what the others read. */
const MOST = 4

/** How many sessions read one database side by side where nobody says: as many as the machine has processors, up to 4. */
export const usualJobs = (): number => Math.min(availableParallelism(), MOST)
