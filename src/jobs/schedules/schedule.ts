import type { MatchedProjects } from '../../contract/matched.ts'
import type { Alarms, Keep, RunStatus } from '../../contract/schedule.ts'
import type { Fault } from '../../errors.ts'
import type { AnyJobRequest } from '../catalogue.ts'

/** What a schedule's jobs are asked for with. */
export type ScheduledRequest = Exclude<AnyJobRequest, { readonly kind: 'import' }>

/** A job that is to be done again and again. */
export interface Schedule {
  readonly id: string
  readonly name: string
  readonly cron: string
  readonly timezone: string
  /** Secrets masked. */
  readonly asked: ScheduledRequest
  readonly keep: Keep
  readonly alarms: Alarms
  /** Whether every archive is restored, to see that it can be. */
  readonly verify: boolean
  readonly enabled: boolean
  /** The token in whose name it runs; null for the root token. */
  readonly createdBy: string | null
  readonly createdAt: Date
  /** Null while it is not enabled. */
  readonly nextRunAt: Date | null
  /** When it was told that its last archive is older than its alarms allow; null while it is not. */
  readonly overdueSince: Date | null
}

/** What became of one time at which a schedule was due. */
export interface ScheduleRun {
  readonly scheduleId: string
  /** For a run that was asked for by hand, when it was. */
  readonly dueAt: Date
  readonly byHand: boolean
  /** Null where it was skipped. */
  readonly jobId: string | null
  readonly status: RunStatus
  readonly error: { readonly code: string; readonly detail: string; readonly errors: readonly Fault[] } | null
  readonly finishedAt: Date | null
  /** When its archive was restored, and what was restored was the same. */
  readonly provenAt: Date | null
  /** When its archive was found to be no longer what was written. */
  readonly archiveDamagedAt: Date | null
  /** How many things no archive can hold, which its job's result names; null where there is no result, or not any more. */
  readonly notExported: number | null
  /** Whether rows are among them; null where there is no result, or one that does not say so. */
  readonly lacksRows: boolean | null
  /** What is new and what is gone; null where it has no patterns, or there is no result, or not any more. */
  readonly matched: MatchedProjects | null
}
