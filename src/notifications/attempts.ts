import type { Database, Queryable, Transaction } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'
import { replaceEarlier } from './replace-earlier.ts'
import { retryPauseMs } from './retry-pause.ts'
import type { WebhookKind } from './webhook.ts'

/** A delivery that this process may try, until its lease ends. */
export interface Attempt {
  readonly id: string
  readonly attempt: number
  readonly webhookId: string
  readonly kind: WebhookKind
  readonly notificationId: string
  readonly type: string
  readonly data: unknown
  /** When what it says happened. */
  readonly createdAt: Date
  readonly sealedAddress: Uint8Array
}

/** What became of an attempt. */
export type Outcome =
  | { readonly kind: 'sent'; readonly answered: number }
  /** Worth trying again; not before the time that the receiver asks for. */
  | {
      readonly kind: 'failed'
      readonly answered: number | null
      readonly error: string
      readonly retryAfterMs?: number
    }
  /** The receiver says that it is there no more. */
  | { readonly kind: 'gone'; readonly answered: number }

const isFree = Prisma.sql`status = 'waiting' AND due_at <= now() AND (taken_until IS NULL OR taken_until < now())`

/**
 * Takes deliveries that are due, one of each webhook that is being sent none: a receiver that is slow delays nothing
 * but what is sent to itself. No other process has a delivery before its lease has ended.
 *
 * @param options.webhookId where only one of this webhook is wanted.
 */
export const takeDue = (
  control: Queryable,
  { limit, leaseMs, webhookId }: { readonly limit: number; readonly leaseMs: number; readonly webhookId?: string },
): Promise<Attempt[]> =>
  control.$queryRaw<Attempt[]>`
    WITH due AS (
      SELECT next.id FROM control.webhook CROSS JOIN LATERAL (
        SELECT id, due_at, attempt FROM control.delivery
         WHERE webhook_id = webhook.id AND ${isFree} ORDER BY due_at LIMIT 1) AS next
       WHERE enabled AND ${webhookId === undefined ? Prisma.sql`TRUE` : Prisma.sql`webhook.id = ${webhookId}::uuid`}
         AND NOT EXISTS (SELECT FROM control.delivery WHERE webhook_id = webhook.id AND taken_until >= now())
       ORDER BY next.attempt > 0, next.due_at LIMIT ${limit}),
    taken AS (
      UPDATE control.delivery
         SET taken_until = now() + make_interval(secs => ${leaseMs / 1000}::float8), attempt = attempt + 1, tried_at = now()
        FROM due WHERE delivery.id = due.id AND ${isFree} RETURNING delivery.*)
    SELECT taken.id, taken.attempt, webhook_id AS "webhookId", notification_id AS "notificationId", type, data,
           notification.created_at AS "createdAt", webhook.kind, sealed_address AS "sealedAddress"
      FROM taken JOIN control.notification ON notification.id = notification_id
                 JOIN control.webhook ON webhook.id = webhook_id`

/**
 * Records what became of an attempt, unless the delivery is another process's by now.
 *
 * @returns how the delivery ended; undefined where it is tried again, or is not this attempt's any more.
 */
export const recordOutcome = (
  { prisma }: Database,
  { id, attempt, webhookId, kind }: Pick<Attempt, 'id' | 'attempt' | 'webhookId' | 'kind'>,
  outcome: Outcome,
): Promise<'sent' | 'failed' | undefined> =>
  prisma.$transaction(async (tx) => {
    const isTriedAgain = outcome.kind === 'failed' && kind === 'ping'
    // A newer one that is being written down is waited for.
    if (isTriedAgain) await tx.$queryRaw`SELECT FROM control.webhook WHERE id = ${webhookId}::uuid FOR UPDATE`
    const [row] = await tx.$queryRaw<{ status: 'waiting' | 'sent' | 'failed' }[]>`
      UPDATE control.delivery SET taken_until = NULL, answered = ${outcome.answered}::int, ${changeOf(outcome, attempt)}
       WHERE id = ${id}::uuid AND attempt = ${attempt} AND status = 'waiting' RETURNING status`
    if (outcome.kind === 'gone') {
      await tx.$executeRaw`UPDATE control.webhook SET enabled = false, gone_at = now() WHERE id = ${webhookId}::uuid`
      await failWaiting(tx, webhookId, GONE)
    }
    if (isTriedAgain) await replaceEarlier(tx, [webhookId])
    return row?.status === 'waiting' ? undefined : row?.status
  })

function changeOf(outcome: Outcome, attempt: number): Prisma.Sql {
  if (outcome.kind === 'sent') return Prisma.sql`status = 'sent', error = NULL, ended_at = now()`
  if (outcome.kind === 'gone') return Prisma.sql`status = 'failed', error = ${GONE}, ended_at = now()`
  const pauseMs = Math.max(retryPauseMs(attempt), outcome.retryAfterMs ?? 0)
  const next = Prisma.sql`now() + make_interval(secs => ${pauseMs / 1000}::float8)`
  return Prisma.sql`
    status = CASE WHEN ${next} > retry_until THEN 'failed' ELSE 'waiting' END, due_at = ${next}, error = ${outcome.error},
    ended_at = CASE WHEN ${next} > retry_until THEN now() END`
}

/** Gives a delivery back that this process cannot go on sending; it may have arrived. */
export const giveBack = (control: Queryable, { id, attempt }: Pick<Attempt, 'id' | 'attempt'>): Promise<unknown> =>
  control.$executeRaw`
    UPDATE control.delivery SET taken_until = NULL
     WHERE id = ${id}::uuid AND attempt = ${attempt} AND status = 'waiting'`

const GONE = 'the receiver says that it is gone (410); the webhook was disabled'

/** Gives up what waits for a webhook, which its transaction has disabled. @param reason what the log says of it. */
export const failWaiting = (tx: Transaction, webhookId: string, reason: string): Promise<unknown> =>
  tx.$executeRaw`
    UPDATE control.delivery SET status = 'failed', error = ${reason}, ended_at = now(), taken_until = NULL
     WHERE webhook_id = ${webhookId}::uuid AND status = 'waiting'`
