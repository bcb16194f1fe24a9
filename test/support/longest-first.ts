import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, as such, the longest first. A file that begins when all others have ended leaves every other worker
 * idle until it ends; and Vitest, which knows no times on a clean checkout, begins the smallest file last.
 */
const LONGEST = [
  'jobs/interrupted-imports',
  'service/image',
  'client/guide',
  'attacks/malformed-requests',
  'jobs/attached-clients',
  'jobs/schedules/verify-own',
  'cli/docs-commands',
  'jobs/busy-login',
  'console/restore',
  'jobs/nth-call',
  'recovery/drill',
  'transfer/export/interrupted',
  'docs/docs',
  'cli/npm',
  'transfer/import/generated-schemas',
  'jobs/attached-kills',
  'transfer/export/tables',
  'backup/sealed-stream',
  'transfer/import/undo',
  'attacks/operators',
  'transfer/import/round-trip',
  'transfer/import/shapes',
  'database/lock-waits',
  'console/views',
  'workers/worker-hang',
  'console/people',
  'cli/guides',
  'jobs/faults',
  'jobs/outages',
  'attacks/attached-secrets',
  'transfer/import/external-types',
  'jobs/job-tokens',
  'api/rights-matrix',
  'console/schedules',
  'console/console',
  'cli/uploads',
  'archive/damage',
  'database/frozen-postgres',
  'cli/import',
  'attacks/upgrades',
  'jobs/uploads',
  'transfer/import/rights-under-way',
  'transfer/import/external-under-way',
  'jobs/schedules/incomplete',
  'transfer/import/crash',
  'transfer/import/in-place',
  'database/embedded-postgres',
  'transfer/export/swap',
  'cli/transfer',
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
