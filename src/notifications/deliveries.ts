import type { DELIVERY_STATUSES } from '../contract/webhook.ts'
import { TEST_TYPE } from '../contract/webhook.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import { conflict, notFound } from '../errors.ts'
import { address, RETRY_UNTIL } from './address-notifications.ts'
import type { Webhook } from './webhook.ts'
import { findWebhook } from './webhooks.ts'

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** A notification on its way to a webhook. */
export interface Delivery {
  readonly id: string
  readonly notificationId: string
  readonly type: string
  readonly jobId: string | null
  readonly status: DeliveryStatus
  readonly attempt: number
  readonly answered: number | null
  readonly error: string | null
  readonly createdAt: Date
  readonly triedAt: Date | null
  readonly dueAt: Date
  readonly endedAt: Date | null
}

/** For how many days notifications are kept, with what became of them. */
const KEPT_DAYS = 30

const WITH_NOTIFICATION = { notification: { select: { type: true, jobId: true } } } as const

/**
 * What was sent to a webhook, or is to be, the newest first.
 *
 * @param page at most `limit`, after the one with the id `after`.
 * @throws {AppError} NOT_FOUND for a webhook that there is not.
 */
export async function listDeliveries(
  control: Queryable,
  webhookId: string,
  page: {
    readonly limit: number
    readonly after?: string | undefined
    readonly status?: DeliveryStatus | undefined
  },
): Promise<readonly Delivery[]> {
  await findWebhook(control, webhookId)
  const rows = await control.delivery.findMany({
    where: { webhookId, ...(page.status && { status: page.status }) },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: page.limit,
    ...(page.after !== undefined && { cursor: { id: page.after }, skip: 1 }),
    include: WITH_NOTIFICATION,
  })
  return rows.map(toDelivery)
}

/** @throws {AppError} NOT_FOUND */
export async function findDelivery(control: Queryable, webhookId: string, id: string): Promise<Delivery> {
  const row = await control.delivery.findFirst({ where: { id, webhookId }, include: WITH_NOTIFICATION })
  if (!row) throw notFound('delivery', id)
  return toDelivery(row)
}

/**
 * Has a notification sent again, under the id that it has: to be tried for as long as a new one.
 *
 * @throws {AppError} NOT_FOUND; CONFLICT where it is still to be sent, or the webhook is disabled.
 */
export const resend = ({ prisma }: Database, webhookId: string, id: string): Promise<Delivery> =>
  prisma.$transaction(async (tx) => {
    await lockEnabled(tx, webhookId)
    const { status } = await findDelivery(tx, webhookId, id)
    if (status === 'waiting') throw conflict('this notification has not been sent yet: it is tried again by itself')
    await tx.$executeRaw`
      UPDATE control.delivery
         SET status = 'waiting', due_at = now(), retry_until = ${RETRY_UNTIL}, error = NULL, answered = NULL, ended_at = NULL
       WHERE id = ${id}::uuid AND status <> 'waiting'`
    return findDelivery(tx, webhookId, id)
  })

/**
 * Has a notification sent that says nothing but that the webhook works.
 *
 * @throws {AppError} NOT_FOUND; CONFLICT where the webhook is disabled.
 */
export const sendTest = ({ prisma }: Database, webhookId: string): Promise<Delivery> =>
  prisma.$transaction(async (tx) => {
    const { name } = await lockEnabled(tx, webhookId)
    const { id: notificationId } = await tx.notification.create({ data: { type: TEST_TYPE } })
    await address(tx, notificationId, { webhook: { id: webhookId, name } }, [webhookId])
    const { id } = await tx.delivery.findFirstOrThrow({ where: { notificationId } })
    return findDelivery(tx, webhookId, id)
  })

/** Removes notifications that are old, sent or not. */
export const removeNotifications = (control: Queryable): Promise<number> =>
  control.$executeRaw`
    DELETE FROM control.notification WHERE created_at < now() - make_interval(days => ${KEPT_DAYS}::int)`

/** Finds a webhook that is not disabled before the transaction has ended. */
async function lockEnabled(tx: Transaction, webhookId: string): Promise<Webhook> {
  await tx.$queryRaw`SELECT FROM control.webhook WHERE id = ${webhookId}::uuid FOR SHARE`
  const webhook = await findWebhook(tx, webhookId)
  if (!webhook.enabled) throw conflict(`the webhook "${webhook.name}" is disabled: enable it first`)
  return webhook
}

interface Row extends Omit<Delivery, 'status' | 'type' | 'jobId'> {
  readonly status: string
  readonly notification: { readonly type: string; readonly jobId: string | null }
}

const toDelivery = ({ notification, status, ...row }: Row): Delivery => ({
  ...row,
  ...notification,
  status: status as DeliveryStatus,
})
