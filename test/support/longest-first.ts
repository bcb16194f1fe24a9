import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, as such, the longest first. A file that begins when all others have ended leaves every other worker
 * idle until it ends; and Vitest, which knows no times on a clean checkout, begins the smallest file last.
 */
const LONGEST = [
  ...['jobs/faults', 'service/chaos', 'projects/dumps', 'jobs/last-steps', 'service/topology', 'jobs/schedules/verify'],
  ...['jobs/outages', 'transfer/import/round-trip', 'jobs/nth-call', 'workers/worker-hang', 'attacks/undo'],
  ...['artifacts/damaged-archives', 'attacks/fair-shares', 'database/lock-waits', 'jobs/schedules/keeping'],
  ...[
    'api/rights-matrix',
    'jobs/jobs',
    'archive/long-events',
    'cli/transfer',
    'database/upgrade',
    'attacks/archive-sql',
  ],
  ...['jobs/http', 'transfer/import/in-place'],
  ...['transfer/export/swap', 'artifacts/download', 'api/access', 'jobs/schedules/verify-crash'],
].map((name) => `test/${name}.test.ts`)

/** Begins with the files that take longest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = LONGEST.indexOf(relative(this.ctx.config.root, moduleId).replaceAll('\\', '/'))
      return rank < 0 ? LONGEST.length : rank
    }
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}
