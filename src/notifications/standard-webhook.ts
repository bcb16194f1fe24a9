import { Webhook as Signer } from 'standardwebhooks'
import type { Attempt } from './attempts.ts'
import type { Request } from './send-request.ts'
import { secretsAt, type WebhookAddress } from './webhook-address.ts'

/**
 * The request that the Standard Webhooks specification asks for, signed with each secret that counts.
 *
 * @param now when it is sent: receivers refuse what was signed long ago.
 */
export function toStandardWebhook(
  { notificationId, type, data, createdAt }: Attempt,
  address: WebhookAddress,
  now: Date,
): Request {
  const body = JSON.stringify({ type, timestamp: createdAt.toISOString(), data })
  const signatures = secretsAt(address, now).map((secret) => new Signer(secret).sign(notificationId, now, body))
  return {
    method: 'POST',
    url: address.url,
    headers: {
      'content-type': 'application/json',
      'webhook-id': notificationId,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': signatures.join(' '),
    },
    body,
  }
}
