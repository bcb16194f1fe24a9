import type { z } from 'zod'
import type { overviewSchema } from '../api/routers/content-overview.ts'
import type { attachmentSchema } from '../contract/attachment.ts'
import type { eventSchema } from '../contract/event.ts'
import type { doctorSchema, statusSchema } from '../contract/health.ts'
import type { examinedSchema } from '../contract/import.ts'
import type { jobResultSchema, jobSchema } from '../contract/job.ts'
import type { projectOverviewSchema } from '../contract/overview.ts'
import type { keptSchema, projectSchema } from '../contract/project.ts'
import type { roleSchema } from '../contract/role.ts'
import type {
  keepPreviewSchema,
  nextRunsSchema,
  runSchema,
  scheduleDetailSchema,
  scheduleSchema,
} from '../contract/schedule.ts'
import type { callerSchema, createdTokenSchema, tokenSchema } from '../contract/token.ts'
import type { createdWebhookSchema, deliverySchema, webhookSchema } from '../contract/webhook.ts'
import type { ReadonlyDeep } from '../lib/readonly-deep.ts'

/* The answers of the HTTP interface, by the very schemas that it and `/openapi.json` are made from. Only types: no code. */
export type Job = ReadonlyDeep<z.output<typeof jobSchema>>
export type JobResult = Partial<ReadonlyDeep<z.output<typeof jobResultSchema>>>
export type Kept = ReadonlyDeep<z.output<typeof keptSchema>>
export type Examined = ReadonlyDeep<z.output<typeof examinedSchema>>
export type ExaminedStage = Examined['projects'][number]['stages'][number]
export type Project = ReadonlyDeep<z.output<typeof projectSchema>>
export type ProjectOverview = ReadonlyDeep<z.output<typeof projectOverviewSchema>>
export type Run = ReadonlyDeep<z.output<typeof runSchema>>
export type Schedule = ReadonlyDeep<z.output<typeof scheduleSchema>>
export type ScheduleDetail = ReadonlyDeep<z.output<typeof scheduleDetailSchema>>
export type KeepPreview = ReadonlyDeep<z.output<typeof keepPreviewSchema>>
export type NextRuns = ReadonlyDeep<z.output<typeof nextRunsSchema>>
export type Overview = ReadonlyDeep<z.output<typeof overviewSchema>>
export type TableOverview = Overview['tables'][number]
export type Role = ReadonlyDeep<z.output<typeof roleSchema>>
export type Token = ReadonlyDeep<z.output<typeof tokenSchema>>
export type CreatedToken = ReadonlyDeep<z.output<typeof createdTokenSchema>>
export type LogEvent = ReadonlyDeep<z.output<typeof eventSchema>>
export type Status = ReadonlyDeep<z.output<typeof statusSchema>>
export type Doctor = ReadonlyDeep<z.output<typeof doctorSchema>>
export type Attachment = ReadonlyDeep<z.output<typeof attachmentSchema>>
export type Webhook = ReadonlyDeep<z.output<typeof webhookSchema>>
export type CreatedWebhook = ReadonlyDeep<z.output<typeof createdWebhookSchema>>
export type Delivery = ReadonlyDeep<z.output<typeof deliverySchema>>
export type Me = ReadonlyDeep<z.output<typeof callerSchema>>

export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | null
}
