import type { ExportSelection } from '../../contract/export.ts'
import type { ReportOptions } from '../terminal/result.ts'

/** The options of commands that choose what is exported. */
export interface SelectionOptions {
  readonly includeSystem?: boolean
  readonly stage?: readonly string[]
  readonly excludeTable?: readonly string[]
  readonly grants?: boolean
  readonly allowIncomplete?: boolean
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
