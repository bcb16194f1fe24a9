import { type Message, toMessage } from './message.ts'
import type { Request } from './send-request.ts'

/** What a chat needs to know of a notification. */
interface Notification {
  readonly type: string
  readonly data: unknown
}

const post = (url: string, body: object): Request => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

const linesOf = ({ fields }: Message): readonly string[] => fields.map(([name, value]) => `${name}: ${value}`)

/** @see https://api.slack.com/messaging/webhooks; the three characters that are escaped are all that mean something. */
export function toSlack(notification: Notification, url: string): Request {
  const message = toMessage(notification)
  const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
  const link = message.url === undefined ? [] : [`<${message.url}|More>`]
  const lines = [`${markOf(message)} *${escaped(message.title)}*`, ...linesOf(message).map(escaped), ...link]
  return post(url, { text: lines.join('\n'), unfurl_links: false })
}

/** @see https://discord.com/developers/docs/resources/webhook#execute-webhook; nobody is mentioned, whatever a name says. */
export function toDiscord(notification: Notification, url: string): Request {
  const message = toMessage(notification)
  const embed = {
    title: `${markOf(message)} ${message.title}`.slice(0, 256),
    color: message.isBad ? RED : GREEN,
    ...(message.url !== undefined && { url: message.url }),
    description: linesOf(message).map(withoutMarkdown).join('\n').slice(0, 4_000),
  }
  return post(url, { embeds: [embed], allowed_mentions: { parse: [] } })
}

const RED = 0xd0_30_30
const GREEN = 0x30_a0_50

const withoutMarkdown = (text: string): string => text.replace(/[\\*_~`|>#[\]()<@:-]/g, '\\$&')

/**
 * An adaptive card, for a workflow "when a webhook request is received". Its text runs know no Markdown.
 *
 * @see https://adaptivecards.io/explorer/RichTextBlock.html
 */
export function toTeams(notification: Notification, url: string): Request {
  const message = toMessage(notification)
  const textOf = (text: string, style: object = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, ...style }],
  })
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      textOf(message.title, { weight: 'bolder', color: message.isBad ? 'attention' : 'good' }),
      ...linesOf(message).map((line) => textOf(line)),
    ],
    ...(message.url !== undefined && { actions: [{ type: 'Action.OpenUrl', title: 'More', url: message.url }] }),
  }
  return post(url, {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  })
}

/** @see https://core.telegram.org/bots/api#sendmessage; without a parse mode, text is text. */
export function toTelegram(notification: Notification, given: string): Request {
  const message = toMessage(notification)
  const url = new URL(given)
  const chatId = url.searchParams.get('chat_id')
  url.searchParams.delete('chat_id')
  const lines = [`${markOf(message)} ${message.title}`, ...linesOf(message), ...(message.url ? [message.url] : [])]
  return post(url.href, { chat_id: chatId, text: lines.join('\n'), link_preview_options: { is_disabled: true } })
}

/** As JSON, in which a title may have any characters. @see https://docs.ntfy.sh/publish/#publish-as-json */
export function toNtfy(notification: Notification, given: string): Request {
  const message = toMessage(notification)
  const url = new URL(given)
  const topic = decodeURIComponent(url.pathname.slice(1))
  url.pathname = '/'
  return post(url.href, {
    topic,
    title: message.title,
    message: linesOf(message).join('\n') || message.title,
    tags: [message.isBad ? 'warning' : 'white_check_mark'],
    priority: message.isBad ? 4 : 3,
    ...(message.url !== undefined && { click: message.url }),
  })
}

const markOf = ({ isBad }: Message): string => (isBad ? '⚠️' : '✅')
