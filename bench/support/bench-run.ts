import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { SampleTable } from './sample-table.ts'
import type { BenchPostgres } from './start-postgres.ts'
import { type BenchService, startService } from './start-service.ts'

/** What the parts of the bench share. */
export interface BenchRun {
  readonly postgres: BenchPostgres
  readonly table: SampleTable
  /** An existing folder for results, emptied by nobody: a file of the same name is written over. */
  readonly outputDir: string
  /** Runs `use` beside a service in a process of its own, which is stopped afterwards. */
  withService<T>(
    use: (service: BenchService) => Promise<T>,
    options?: { readonly logLevel?: 'warn' | 'info' },
  ): Promise<T>
}

/**
 * @param parentDir has the folder that every service uses: it keeps the key that projects' passwords are sealed with.
 */
export const serviceRunner =
  (databaseUrl: string, parentDir: string): BenchRun['withService'] =>
  async (use, options = {}) => {
    const dataDir = join(parentDir, 'service')
    await mkdir(dataDir, { recursive: true })
    const service = await startService({ databaseUrl, dataDir, ...options })
    try {
      return await use(service)
    } finally {
      await service.stop()
    }
  }
