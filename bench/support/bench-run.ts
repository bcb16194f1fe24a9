import type { SampleTable } from './sample-table.ts'
import type { BenchPostgres } from './start-postgres.ts'
import { type BenchService, startService } from './start-service.ts'

/** What the parts of the bench share. */
export interface BenchRun {
  readonly postgres: BenchPostgres
  readonly table: SampleTable
  /** The folder of every service on this database: it keeps the key that projects' passwords are sealed with. */
  readonly dataDir: string
  /** An existing folder for results, emptied by nobody: a file of the same name is written over. */
  readonly outputDir: string
  /** Runs `use` beside a service in a process of its own, which is stopped afterwards. */
  withService<T>(
    use: (service: BenchService) => Promise<T>,
    options?: { readonly logLevel?: 'warn' | 'info'; readonly environment?: Readonly<Record<string, string>> },
  ): Promise<T>
}

export const serviceRunner =
  (databaseUrl: string, dataDir: string): BenchRun['withService'] =>
  async (use, options = {}) => {
    const service = await startService({ databaseUrl, dataDir, ...options })
    try {
      return await use(service)
    } finally {
      await service.stop()
    }
  }
