import type { Transaction } from '../database/database.ts'

/** Gives up pings that are being tried again and have a newer one: they would tell of a state that is over. */
export const replaceEarlier = (tx: Transaction, webhookIds: readonly string[]): Promise<unknown> =>
  tx.$executeRaw`
    UPDATE control.delivery SET status = 'failed', error = 'a newer ping took its place', ended_at = now()
      FROM control.webhook
     WHERE webhook.id = webhook_id AND webhook_id = ANY (${[...webhookIds]}::uuid[]) AND kind = 'ping'
       AND status = 'waiting' AND attempt > 0 AND (taken_until IS NULL OR taken_until < now())
       AND EXISTS (SELECT FROM control.delivery AS newer
                    WHERE newer.webhook_id = delivery.webhook_id AND newer.created_at > delivery.created_at)`
