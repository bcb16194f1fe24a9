import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, as such, the longest first. A file that begins when all others have ended leaves every other worker
 * idle until it ends; and Vitest, which knows no times on a clean checkout, begins the smallest file last.
 */
const LONGEST = [
  ...['service/chaos', 'cli/guides', 'jobs/faults', 'transfer/import/round-trip', 'jobs/nth-call'],
  ...[
    'jobs/outages',
    'service/topology',
    'database/frozen-postgres',
    'database/lock-waits',
    'cli/transfer',
    'workers/worker-hang',
  ],
  ...[
    'jobs/schedules/verify',
    'attacks/command-line-trust',
    'transfer/import/crash',
    'jobs/last-steps',
    'attacks/stop-the-service',
  ],
  ...['cli/import', 'transfer/import/undo', 'database/embedded-postgres', 'transfer/import/hostile'],
  ...[
    'transfer/import/many-events',
    'transfer/import/shapes',
    'projects/dumps',
    'cli/process',
    'attacks/fair-shares',
    'api/rights-matrix',
  ],
  ...['transfer/import/rights', 'transfer/export/interrupted', 'jobs/busy-login', 'transfer/import/refused'],
  ...[
    'workers/stop-while-waiting',
    'attacks/attached-secrets',
    'transfer/import/in-place',
    'jobs/schedules/verify-crash',
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
