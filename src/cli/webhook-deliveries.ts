import { setTimeout as delay } from 'node:timers/promises'
import { pageOf } from '../contract/page.ts'
import type { CommandContext } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { webhookPath } from './find-webhook.ts'
import { encodedPath, type HttpClient } from './http.ts'
import { onServer, type ServerOptions } from './server.ts'
import { get } from './server-api.ts'
import { printable } from './terminal/printable.ts'
import { printResult } from './terminal/result.ts'
import { type Delivery, formatDeliveries, shownDelivery } from './webhook-text.ts'

/** How long `webhook:test` waits for what becomes of it, and between two looks. */
const TEST_MS = 30_000
const LOOK_MS = 300

/** `webhook:test` */
export async function runWebhookTest(context: CommandContext, name: string, options: ServerOptions): Promise<number> {
  const delivery = await onServer(context, options, async ({ http }) => {
    const path = await webhookPath(http, name)
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
    const path = `${await webhookPath(http, name)}/deliveries`
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
    const path = `${await webhookPath(http, name)}${encodedPath`/deliveries/${id}/resend`}`
    return http.json({ method: 'POST', path }, shownDelivery)
  })
  return printResult(context, options, {
    json: delivery,
    text: () => `notification ${printable(delivery.notificationId)} is sent again`,
  })
}

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
