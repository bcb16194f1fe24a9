import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, as such, the longest first. A file that begins when all others have ended leaves every other worker
 * idle until it ends; and Vitest, which knows no times on a clean checkout, begins the smallest file last.
 */
const LONGEST = [
  ...['cli/guides', 'jobs/faults', 'transfer/import/round-trip', 'jobs/nth-call', 'jobs/attached-kills'],
  ...['service/chaos', 'transfer/import/crash', 'jobs/outages', 'database/lock-waits', 'attacks/stop-the-service'],
  ...['cli/process', 'jobs/schedules/verify', 'transfer/import/shapes', 'cli/import', 'cli/transfer'],
  ...[
    'attacks/command-line-trust',
    'workers/worker-hang',
    'transfer/import/hostile',
    'api/rights-matrix',
    'database/embedded-postgres',
  ],
  ...[
    'database/frozen-postgres',
    'attacks/fair-shares',
    'transfer/import/undo',
    'jobs/last-steps',
    'transfer/import/external',
  ],
  ...[
    'transfer/import/external-fixtures',
    'transfer/import/rights',
    'cli/direct',
    'jobs/job-storage',
    'transfer/import/refused',
  ],
  ...[
    'transfer/import/concurrency',
    'transfer/import/extensions',
    'jobs/schedules/verify-crash',
    'database/migrations',
    'attacks/cannot-be-deleted',
  ],
  ...[
    'projects/dumps',
    'database/full-disk',
    'attacks/reserved-connections',
    'service/topology',
    'workers/stop-while-waiting',
  ],
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
