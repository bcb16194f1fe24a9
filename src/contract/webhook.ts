import { z } from 'zod'
import { SLUG_PATTERN } from '../lib/slug.ts'
import { count, id, timeText } from './fields.ts'
import { JOB_KINDS } from './job.ts'
import { plainText } from './plain-text.ts'

/** What a webhook may ask to be told of. */
export const EVENT_TYPES = [
  'job.succeeded',
  'job.failed',
  'job.cancelled',
  'proof.failed',
  'schedule.missed',
  'archive.overdue',
  'archive.shrunk',
] as const

/** What only pings can be told of, beside these. */
export const STARTED_TYPE = 'job.started'

/** What is sent to a webhook, of those that can be made. */
export const NEW_WEBHOOK_KINDS = ['standard', 'slack', 'discord', 'teams', 'telegram', 'ntfy', 'mail'] as const

/** The same of all. */
export const WEBHOOK_KINDS = [...NEW_WEBHOOK_KINDS, 'ping'] as const

/** What is sent to try a webhook. */
export const TEST_TYPE = 'webhook.test'

const MAX_FILTERS = 100

/** A slug, or a pattern of slugs. */
const projectPattern = z.union([
  z.string().regex(SLUG_PATTERN),
  z
    .string()
    .regex(/^[a-z0-9_*?-]{1,100}$/, { error: 'must be the slug of a project, or a pattern with "*" or "?"' })
    .regex(/[*?]/),
])

const events = z
  .array(z.enum(EVENT_TYPES))
  .max(EVENT_TYPES.length)
  .meta({ description: 'Only these; none means all. `job.failed` includes `proof.failed`.' })
const jobKinds = z
  .array(z.enum(JOB_KINDS))
  .max(JOB_KINDS.length)
  .meta({ description: 'Only of jobs of these kinds; none means all.' })
const projects = z
  .array(projectPattern)
  .max(MAX_FILTERS)
  .meta({
    description: 'Only what is about one of these projects: slugs, or patterns with `*` or `?`; none means all.',
    examples: [['shop-*']],
  })
const schedules = z.array(id).max(MAX_FILTERS).meta({ description: 'Only runs of these schedules; none means all.' })

const name = plainText(200).min(1)
const url = plainText(2_000).meta({
  description:
    'Where requests are sent; `https` or `http`. It is never shown again. Of a Telegram bot, that of `sendMessage` with ' +
    '`chat_id`; of ntfy, that of the topic; of mail, `mailto:` and addresses with commas between them.',
  examples: ['https://example.org/hooks/wharf'],
})

/** A webhook that is to be made. */
export const newWebhook = z.strictObject({
  name,
  kind: z
    .enum(NEW_WEBHOOK_KINDS)
    .default('standard')
    .meta({ description: '`standard` is signed JSON, by the Standard Webhooks specification; the others are texts.' }),
  url,
  events: events.default([]),
  jobKinds: jobKinds.default([]),
  projects: projects.default([]),
  schedules: schedules.default([]),
})

/** Changes to a webhook. */
export const changedWebhook = z.strictObject({
  name: name.optional(),
  url: url.optional(),
  events: events.optional(),
  jobKinds: jobKinds.optional(),
  projects: projects.optional(),
  schedules: schedules.optional(),
  enabled: z.boolean().optional().meta({ description: '`true` also where Wharf has disabled it.' }),
})

const fields = {
  id,
  name: z.string(),
  kind: z.enum(WEBHOOK_KINDS).meta({ description: '`ping` for that of a schedule.' }),
  scheduleId: id
    .nullable()
    .meta({ description: 'The schedule whose ping it is: the schedule has to be changed, then.' }),
  address: z.string().meta({ description: 'Its URL without path and query, which can be secret.' }),
  events: z.array(z.enum([...EVENT_TYPES, STARTED_TYPE])),
  jobKinds,
  projects: z.array(z.string()),
  schedules,
  enabled: z.boolean(),
  goneAt: timeText
    .nullable()
    .meta({ description: 'When Wharf disabled it, since it answered `410 Gone`; null where it did not.' }),
  createdAt: timeText,
}

export const webhookSchema = z.object(fields).meta({ id: 'Webhook' })

export const createdWebhookSchema = z
  .object({
    ...fields,
    secret: z
      .string()
      .nullable()
      .meta({ description: 'What its requests are signed with, `whsec_…`; null where its kind is not signed.' }),
  })
  .meta({ id: 'NewWebhook', description: 'A webhook with its secret, which is shown once.' })

export const DELIVERY_STATUSES = ['waiting', 'sent', 'failed'] as const

export const deliverySchema = z
  .object({
    id,
    notificationId: id.meta({ description: '`webhook-id` of its requests: the same each time that it is sent.' }),
    type: z.string(),
    jobId: id.nullable(),
    status: z.enum(DELIVERY_STATUSES),
    attempt: count.meta({ description: 'How often it was tried.' }),
    answered: z.int().nullable().meta({ description: 'The status of the last answer; null where there was none.' }),
    error: z.string().nullable().meta({ description: 'Why the last attempt failed.' }),
    createdAt: timeText,
    triedAt: timeText.nullable(),
    dueAt: timeText.nullable().meta({ description: 'When it is tried next; null where it is not.' }),
    endedAt: timeText.nullable().meta({ description: 'When it was sent, or given up.' }),
  })
  .meta({ id: 'Delivery', description: 'A notification on its way to a webhook.' })
