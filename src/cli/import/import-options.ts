import type { Confirmation } from '../terminal/confirm.ts'
import type { ReportOptions } from '../terminal/result.ts'

/** Those of `data:import`. */
export interface ImportOptions extends ReportOptions, Confirmation {
  readonly dryRun?: boolean
  /** The one project of the archive that is meant. */
  readonly project?: string
  readonly allowEdited?: boolean
  readonly allowIncomplete?: boolean
  /** How many sessions load one stage, at most. */
  readonly jobs?: string
  /** The schedule whose archive is imported, by its name or id. */
  readonly fromSchedule?: string
  /** When that archive was made, at the latest. */
  readonly at?: string
}
