import type { Database, Transaction } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'
import { replaceEarlier } from './replace-earlier.ts'
import { type Subject, toWebhook, wants } from './webhook.ts'

/** How many notifications are addressed in one transaction. */
const BATCH = 100

/** For how long a notification is tried again. */
export const RETRY_HOURS = 24

/** What is sent about something, and by what webhooks choose it. */
export interface Description {
  readonly data: object
  readonly about: Subject
}

/** Reads what a notification says from the records that it is about; undefined where they are gone. */
export type Describe = (tx: Transaction, notification: NewNotification) => Promise<Description | undefined>

/** A notification that was written, and that nobody was told yet. */
export interface NewNotification {
  readonly id: string
  readonly type: string
  readonly jobId: string | null
  readonly scheduleId: string | null
  /** What the records that it is about do not say. */
  readonly data: object | null
}

/** Decides who gets the notifications that were written, the oldest first. Any number of processes may do so at once. */
export async function addressNotifications({ prisma }: Database, describe: Describe): Promise<void> {
  const isAny = await prisma.notification.findFirst({ where: { addressedAt: null }, select: { id: true } })
  if (!isAny) return
  await prisma.$transaction(async (tx) => {
    const found = await tx.$queryRaw<NewNotification[]>`
      SELECT id, type, job_id AS "jobId", schedule_id AS "scheduleId", data FROM control.notification WHERE addressed_at IS NULL
       ORDER BY created_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`
    const webhooks = (await tx.webhook.findMany({ where: { enabled: true } })).map(toWebhook)
    for (const notification of found) {
      const { id, type } = notification
      const description = await describe(tx, notification)
      const ids = description
        ? webhooks.filter((webhook) => wants(webhook, type, description.about)).map((webhook) => webhook.id)
        : []
      if (description && ids.length > 0) await address(tx, id, description.data, ids)
      else await tx.notification.delete({ where: { id } })
    }
  })
}

/** Says what is sent to whom. A webhook that was deleted or disabled meanwhile gets nothing. */
export async function address(
  tx: Transaction,
  notificationId: string,
  data: object,
  webhookIds: readonly string[],
): Promise<void> {
  await tx.$executeRaw`
    UPDATE control.notification SET data = ${JSON.stringify(data)}::jsonb, addressed_at = now()
     WHERE id = ${notificationId}::uuid`
  // The time of the statement: those of one transaction are sent, and shown, in the order of what happened.
  await tx.$executeRaw`
    INSERT INTO control.delivery (notification_id, webhook_id, retry_until, created_at, due_at)
    SELECT ${notificationId}::uuid, id, ${RETRY_UNTIL}, clock_timestamp(), clock_timestamp() FROM control.webhook
     WHERE id = ANY (${[...webhookIds]}::uuid[]) AND enabled FOR SHARE`
  // Only now, behind that lock: one whose attempt ends at the same time is given up there, or here.
  await replaceEarlier(tx, webhookIds)
}

/** Until when what is sent from now on is tried again. */
export const RETRY_UNTIL = Prisma.sql`now() + make_interval(hours => ${RETRY_HOURS}::int)`
