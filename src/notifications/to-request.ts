import type { Attempt } from './attempts.ts'
import { toPing } from './ping.ts'
import type { Request } from './send-request.ts'
import { toStandardWebhook } from './standard-webhook.ts'
import type { WebhookAddress } from './webhook-address.ts'

/** The request by which a notification is sent to a webhook of its kind. */
export function toRequest(attempt: Attempt, address: WebhookAddress): Request {
  switch (attempt.kind) {
    case 'standard':
      return toStandardWebhook(attempt, address, new Date())
    case 'ping':
      return toPing(attempt, address)
  }
}
