import type { ExportSelection } from '../../contract/export.ts'
import { wrongUse } from '../../errors.ts'
import type { ReportOptions } from '../terminal/result.ts'

/** The options of commands that choose what is exported. */
export interface SelectionOptions {
  readonly includeSystem?: boolean
  readonly stage?: readonly string[]
  readonly excludeTable?: readonly string[]
  readonly grants?: boolean
  readonly allowIncomplete?: boolean
  /** How many sessions read a database that is named by its address. */
  readonly jobs?: string
}

/** @throws {AppError} WRONG_USE where it is said how many sessions a server has read. */
export function assertNoJobs({ jobs }: SelectionOptions): void {
  if (jobs === undefined) return
  throw wrongUse('--jobs is for databases that are named by their address: a server reads by itself; leave --jobs out')
}

/** Those of `data:export`. */
export interface ExportOptions extends ReportOptions, SelectionOptions {
  readonly gzip: boolean
  readonly output?: string
  /** As a job of the server's, and then downloaded. */
  readonly async?: boolean
}

/** Which parts of a project to export, without its slug. */
export const toSelection = ({
  includeSystem,
  stage,
  excludeTable,
  grants,
}: SelectionOptions): Omit<ExportSelection, 'slug' | 'targetSlug'> => ({
  system: includeSystem ?? false,
  stages: stage,
  excludeTables: excludeTable,
  // Older servers do not know it.
  ...(grants && { grants }),
})
