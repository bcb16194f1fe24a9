import type { Webhook } from './types.ts'

/** What the kinds of webhooks are called, those first that can be made here. */
export const KIND_NAMES = {
  standard: 'signed JSON (Standard Webhooks)',
  slack: 'Slack',
  discord: 'Discord',
  teams: 'Teams',
  telegram: 'Telegram',
  ntfy: 'ntfy',
  mail: 'mail',
  ping: 'ping of a schedule',
} as const satisfies Record<Webhook['kind'], string>
