import type { JOB_KINDS } from '../contract/job.ts'
import { type EVENT_TYPES, STARTED_TYPE, type WEBHOOK_KINDS } from '../contract/webhook.ts'
import type { Webhook as Row } from '../database/generated/client.ts'
import { matchesPattern } from '../lib/wildcards.ts'

/** `job.started` is only for pings. */
export type EventType = (typeof EVENT_TYPES)[number] | typeof STARTED_TYPE
export type WebhookKind = (typeof WEBHOOK_KINDS)[number]
type JobKind = (typeof JOB_KINDS)[number]

/** Where notifications go, and which. Empty lists mean all. */
export interface Webhook {
  readonly id: string
  readonly name: string
  readonly kind: WebhookKind
  /** The schedule whose ping it is. */
  readonly scheduleId: string | null
  /** What of its URL may be shown. */
  readonly address: string
  readonly events: readonly EventType[]
  readonly jobKinds: readonly JobKind[]
  /** Slugs, and patterns of them. */
  readonly projects: readonly string[]
  /** Ids of schedules. */
  readonly schedules: readonly string[]
  readonly enabled: boolean
  /** When it answered that it is gone, since when nothing is sent there. */
  readonly goneAt: Date | null
  readonly createdAt: Date
}

/** What a notification is about. */
export interface Subject {
  readonly jobKind: JobKind
  readonly projects: readonly string[]
  readonly scheduleId: string | null
}

/** The lists are as `contract/webhook.ts` has let them in. */
export function toWebhook(row: Omit<Row, 'sealedAddress'>): Webhook {
  const { id, name, kind, scheduleId, address, events, jobKinds, projects, scheduleIds, enabled, goneAt, createdAt } =
    row
  return {
    ...{ id, name, scheduleId, address, projects, enabled, goneAt, createdAt },
    kind: kind as WebhookKind,
    events: events as EventType[],
    jobKinds: jobKinds as JobKind[],
    schedules: scheduleIds,
  }
}

/** Whether a webhook is to be told of something. */
export function wants(webhook: Webhook, type: string, { jobKind, projects, scheduleId }: Subject): boolean {
  const isAmong = <T>(list: readonly T[], value: T | null): boolean =>
    list.length === 0 || (value !== null && list.includes(value))
  const wantsProject =
    webhook.projects.length === 0 ||
    projects.some((slug) => webhook.projects.some((pattern) => matchesPattern(pattern, slug)))
  return (
    wantsType(webhook.events, type) &&
    isAmong(webhook.jobKinds, jobKind) &&
    isAmong(webhook.schedules, scheduleId) &&
    wantsProject
  )
}

/** A run whose archive could not be proven has failed, too. */
function wantsType(events: readonly EventType[], type: string): boolean {
  const wants = (wanted: string): boolean => events.some((event) => event === wanted)
  if (events.length === 0) return type !== STARTED_TYPE
  return wants(type) || (type === 'proof.failed' && wants('job.failed'))
}
