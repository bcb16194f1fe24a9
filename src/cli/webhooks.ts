import { createdWebhookSchema } from '../contract/webhook.ts'
import { wrongUse } from '../errors.ts'
import type { CommandContext } from './environment.ts'
import { findScheduleId } from './find-schedule.ts'
import { webhookPath } from './find-webhook.ts'
import type { HttpClient } from './http.ts'
import { readSecretUrl } from './read-secret-url.ts'
import { onServer, type ServerOptions } from './server.ts'
import { get, getAll, remove, send } from './server-api.ts'
import { assertCanConfirm, type Confirmation } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { onceConfirmed, printResult } from './terminal/result.ts'
import { formatWebhook, formatWebhooks, shownWebhook, type Webhook } from './webhook-text.ts'

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
    get(http, await webhookPath(http, name), shownWebhook),
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
    const path = await webhookPath(http, name)
    const webhook = await send(http, { method: 'PATCH', path, body }, shownWebhook)
    return rotateSecret ? http.json({ method: 'POST', path: `${path}/rotate` }, withSecret) : webhook
  })
  if (!('secret' in changed)) return printWebhook(context, options, changed)
  return printResult(context, options, { json: changed, text: () => printable(String(changed.secret)) })
}

const nothingToChange = () =>
  wrongUse(
    'say what to change: --name, --url, --to, --event, --job-kind, --project, --schedule, --enable, --disable or --rotate-secret',
  )

/** `webhook:delete` */
export async function runWebhookDelete(
  context: CommandContext,
  name: string,
  options: ServerOptions & Confirmation,
): Promise<number> {
  assertCanConfirm(context, options)
  return onServer(context, options, async ({ http, location }) => {
    const path = await webhookPath(http, name)
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

const printWebhook = (context: CommandContext, options: ServerOptions, webhook: Webhook): Promise<number> =>
  printResult(context, options, {
    json: webhook,
    text: () => `${printable(webhook.id)}\n${formatWebhook(webhook)}`,
  })

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
