import type { Attempt } from './attempts.ts'
import { toDiscord, toNtfy, toSlack, toTeams, toTelegram } from './chats.ts'
import { toPing } from './ping.ts'
import type { Request } from './send-request.ts'
import { toStandardWebhook } from './standard-webhook.ts'
import type { WebhookKind } from './webhook.ts'
import type { WebhookAddress } from './webhook-address.ts'

/** How each kind of webhook is told, of those that are told over HTTP. */
const REQUESTS: Readonly<Record<Exclude<WebhookKind, 'mail'>, (attempt: Attempt, address: WebhookAddress) => Request>> =
  {
    standard: (attempt, address) => toStandardWebhook(attempt, address, new Date()),
    ping: toPing,
    slack: (attempt, { url }) => toSlack(attempt, url),
    discord: (attempt, { url }) => toDiscord(attempt, url),
    teams: (attempt, { url }) => toTeams(attempt, url),
    telegram: (attempt, { url }) => toTelegram(attempt, url),
    ntfy: (attempt, { url }) => toNtfy(attempt, url),
  }

/** The request by which a notification is sent to a webhook of its kind. */
export const toRequest = (attempt: Attempt, kind: Exclude<WebhookKind, 'mail'>, address: WebhookAddress): Request =>
  REQUESTS[kind](attempt, address)
