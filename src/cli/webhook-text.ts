import type { z } from 'zod'
import type { FromServer } from '../contract/from-server.ts'
import { deliverySchema, webhookSchema } from '../contract/webhook.ts'
import { formatFields, formatTable } from './terminal/table.ts'

/** What is shown of a webhook. */
export const shownWebhook = webhookSchema.omit({ createdAt: true })

export type Webhook = FromServer<z.output<typeof shownWebhook>>

export const shownDelivery = deliverySchema

export type Delivery = FromServer<z.output<typeof shownDelivery>>

type Style = { readonly colors: boolean }

/** A webhook, line by line. */
export const formatWebhook = (webhook: Webhook): string =>
  formatFields([
    ['name', webhook.name],
    ['kind', webhook.kind],
    ['to', webhook.address],
    ['events', listOf(webhook.events)],
    ['jobs', listOf(webhook.jobKinds)],
    ['projects', listOf(webhook.projects)],
    ['schedules', listOf(webhook.schedules)],
    ['state', stateOf(webhook)],
  ])

/** Webhooks as a table. */
export const formatWebhooks = (webhooks: readonly Webhook[], style: Style): string =>
  webhooks.length === 0
    ? 'there are no webhooks'
    : formatTable(
        ['id', 'name', 'kind', 'to', 'events', 'state'],
        webhooks.map((webhook) => [
          webhook.id,
          webhook.name,
          webhook.kind,
          webhook.address,
          listOf(webhook.events),
          stateOf(webhook),
        ]),
        style,
      )

/** Deliveries as a table. */
export const formatDeliveries = (deliveries: readonly Delivery[], style: Style): string =>
  deliveries.length === 0
    ? 'nothing was sent, and nothing waits'
    : formatTable(
        ['id', 'what', 'about', 'created', 'status', 'attempts', 'last answer'],
        deliveries.map(({ id, type, jobId, createdAt, status, attempt, answered, error }) => [
          ...[id, type, jobId ?? '-', createdAt, status, String(attempt)],
          error ?? (answered === null ? '-' : String(answered)),
        ]),
        style,
      )

const listOf = (items: readonly string[]): string => (items.length === 0 ? 'all' : items.join(', '))

function stateOf({ enabled, goneAt }: Webhook): string {
  if (enabled) return 'enabled'
  return goneAt === null ? 'disabled' : `disabled: it answered that it is gone, at ${goneAt}`
}
