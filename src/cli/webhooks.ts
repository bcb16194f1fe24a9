import { setTimeout as delay } from 'node:timers/promises'
import { pageOf } from '../contract/page.ts'
import { createdWebhookSchema } from '../contract/webhook.ts'
import { wrongUse } from '../errors.ts'
import type { CommandContext } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { findNamed, isId } from './find-named.ts'
import { findScheduleId } from './find-schedule.ts'
import { encodedPath, type HttpClient } from './http.ts'
import { readSecretUrl } from './read-secret-url.ts'
import { onServer, type ServerOptions } from './server.ts'
import { get, getAll, remove, send } from './server-api.ts'
import { assertCanConfirm, type Confirmation } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { onceConfirmed, printResult } from './terminal/result.ts'
import {
  type Delivery,
  formatDeliveries,
  formatWebhook,
  formatWebhooks,
  shownDelivery,
  shownWebhook,
  type Webhook,
} from './webhook-text.ts'

interface WebhookSettings extends ServerOptions {
  readonly name?: string
  readonly url?: string
  readonly to?: readonly string[]
  readonly event?: readonly string[]
  readonly jobKind?: readonly string[]
  readonly project?: readonly string[]
  readonly schedule?: readonly string[]
}

interface WebhookEditOptions extends WebhookSettings {
  readonly enable?: boolean
  readonly disable?: boolean
  readonly rotateSecret?: boolean
}

const withSecret = createdWebhookSchema.omit({ createdAt: true })

/** How long `webhook:test` waits for what becomes of it, and between two looks. */
const TEST_MS = 30_000
const LOOK_MS = 300

/** `webhook:create` */
export async function runWebhookCreate(
  context: CommandContext,
  options: WebhookSettings & { readonly kind: string },
): Promise<number> {
  if (options.url === undefined && options.to === undefined) throw wrongUse('say where: --url, or --to for mail')
  const created = await onServer(context, options, async ({ http }) => {
    const body = { kind: options.kind, ...(await readSettings(context, http, options)) }
    return send(http, { method: 'POST', path: '/webhooks', body }, withSecret)
  })
  return printResult(context, options, {
    json: created,
    text: () => printable(created.secret ?? `created webhook ${created.id}`),
  })
}

/** `webhook:list` */
export async function runWebhookList(context: CommandContext, options: ServerOptions): Promise<number> {
  const webhooks = await onServer(context, options, ({ http }) => getAll(http, '/webhooks', shownWebhook))
  return printResult(context, options, { json: { webhooks }, text: (style) => formatWebhooks(webhooks, style) })
}

/** `webhook:show` */
export async function runWebhookShow(context: CommandContext, name: string, options: ServerOptions): Promise<number> {
  const webhook = await onServer(context, options, async ({ http }) =>
    get(http, await pathOf(http, name), shownWebhook),
  )
  return printWebhook(context, options, webhook)
}

/** `webhook:edit` */
export async function runWebhookEdit(
  context: CommandContext,
  name: string,
  options: WebhookEditOptions,
): Promise<number> {
  const { enable, disable, rotateSecret } = options
  if (enable && disable) throw wrongUse('--enable and --disable exclude each other')
  const changed = await onServer(context, options, async ({ http }) => {
    const settings = await readSettings(context, http, options)
    const body = { ...settings, ...((enable || disable) && { enabled: enable === true }) }
    if (Object.values(body).every((value) => value === undefined) && !rotateSecret) throw nothingToChange()
    const path = await pathOf(http, name)
    const webhook = await send(http, { method: 'PATCH', path, body }, shownWebhook)
    return rotateSecret ? http.json({ method: 'POST', path: `${path}/rotate` }, withSecret) : webhook
  })
  if (!('secret' in changed)) return printWebhook(context, options, changed)
  return printResult(context, options, { json: changed, text: () => printable(String(changed.secret)) })
}

const nothingToChange = () =>
  wrongUse(
    'say what to change: --name, --url, --event, --job-kind, --project, --schedule, --enable, --disable or --rotate-secret',
  )

/** `webhook:delete` */
export async function runWebhookDelete(
  context: CommandContext,
  name: string,
  options: ServerOptions & Confirmation,
): Promise<number> {
  assertCanConfirm(context, options)
  return onServer(context, options, async ({ http, location }) => {
    const path = await pathOf(http, name)
    const webhook = await get(http, path, shownWebhook)
    const { id } = webhook
    const consequence =
      `this ends webhook "${printable(webhook.name)}" to ${printable(webhook.address)}${location} for good, ` +
      'with the log of what it was sent'
    return onceConfirmed(context, consequence, options, async () => {
      await remove(http, path)
      return { json: { deleted: { id, name: webhook.name } }, text: () => `deleted webhook ${printable(id)}` }
    })
  })
}

/** `webhook:test` */
export async function runWebhookTest(context: CommandContext, name: string, options: ServerOptions): Promise<number> {
  const delivery = await onServer(context, options, async ({ http }) => {
    const path = await pathOf(http, name)
    const { id } = await http.json({ method: 'POST', path: `${path}/test` }, shownDelivery)
    return untilTried(context, http, path, id)
  })
  await printResult(context, options, { json: delivery, text: () => toText(delivery) })
  return delivery.status === 'sent' ? EXIT.done : EXIT.failed
}

/** `webhook:deliveries` */
export async function runWebhookDeliveries(
  context: CommandContext,
  name: string,
  options: ServerOptions & { readonly status?: string; readonly limit?: string },
): Promise<number> {
  const { status, limit } = options
  const deliveries = await onServer(context, options, async ({ http }) => {
    const path = `${await pathOf(http, name)}/deliveries`
    return (await http.json({ method: 'GET', path, query: { status, limit } }, pageOf(shownDelivery))).items
  })
  return printResult(context, options, {
    json: { deliveries },
    text: (style) => formatDeliveries(deliveries, style),
  })
}

/** `webhook:resend` */
export async function runWebhookResend(
  context: CommandContext,
  name: string,
  id: string,
  options: ServerOptions,
): Promise<number> {
  const delivery = await onServer(context, options, async ({ http }) => {
    const path = `${await pathOf(http, name)}${encodedPath`/deliveries/${id}/resend`}`
    return http.json({ method: 'POST', path }, shownDelivery)
  })
  return printResult(context, options, {
    json: delivery,
    text: () => `notification ${printable(delivery.notificationId)} is sent again`,
  })
}

const printWebhook = (context: CommandContext, options: ServerOptions, webhook: Webhook): Promise<number> =>
  printResult(context, options, {
    json: webhook,
    text: () => `${printable(webhook.id)}\n${formatWebhook(webhook)}`,
  })

/** Waits until a delivery was tried; gives it as it is where that takes too long, as where no worker runs. */
async function untilTried(context: CommandContext, http: HttpClient, path: string, id: string): Promise<Delivery> {
  const until = performance.now() + TEST_MS
  for (;;) {
    const delivery = await get(http, `${path}${encodedPath`/deliveries/${id}`}`, shownDelivery)
    if (delivery.status !== 'waiting' || delivery.error !== null || performance.now() > until) return delivery
    await delay(LOOK_MS, undefined, { signal: context.signal })
  }
}

function toText({ status, answered, error }: Delivery): string {
  if (status === 'sent') return `sent: the receiver answered with ${answered}`
  return `not sent: ${printable(error ?? 'no worker has tried it yet')}`
}

/** @param name of a webhook, or its id. */
async function pathOf(http: HttpClient, name: string): Promise<string> {
  const id = isId(name) ? name : findNamed(await getAll(http, '/webhooks', shownWebhook), 'webhook', name).id
  return encodedPath`/webhooks/${id}`
}

/** The options as the fields of a request; "all" takes a choice away. */
async function readSettings(context: CommandContext, http: HttpClient, options: WebhookSettings): Promise<object> {
  const { name, url, to, event, jobKind, project, schedule } = options
  if (url !== undefined && to !== undefined) throw wrongUse('--url and --to exclude each other')
  const schedules = schedule && (await Promise.all(choiceOf(schedule).map((each) => findScheduleId(http, each))))
  return {
    name,
    url: to ? `mailto:${to.join(',')}` : await readSecretUrl(context, url),
    events: event && choiceOf(event),
    jobKinds: jobKind && choiceOf(jobKind),
    projects: project && choiceOf(project),
    schedules,
  }
}

const choiceOf = (given: readonly string[]): readonly string[] => (given.includes('all') ? [] : given)
