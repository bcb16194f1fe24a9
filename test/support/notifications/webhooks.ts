import { expect } from 'vitest'
import { z } from 'zod'
import { eventually } from '../eventually.ts'
import type { ApiClient } from '../http/api-client.ts'
import type { TestWharfOptions } from '../service/wharf.ts'

/** For services that send what there is to send at once, to receivers of the test's own. */
export const SENDING = {
  worker: true,
  environment: { WHARF_WEBHOOK_HOSTS: '127.0.0.1', WHARF_PUBLIC_URL: 'https://wharf.example.org/' },
  jobTimings: { notifyMs: 100 },
} as const satisfies TestWharfOptions

const webhookSchema = z.looseObject({
  id: z.string(),
  secret: z
    .string()
    .nullable()
    .transform((secret) => secret ?? ''),
})

const deliverySchema = z.looseObject({
  id: z.string(),
  notificationId: z.string(),
  type: z.string(),
  jobId: z.string().nullable(),
  status: z.string(),
  attempt: z.number(),
  answered: z.number().nullable(),
  error: z.string().nullable(),
})

export type SeenDelivery = z.infer<typeof deliverySchema>

/** Has notifications sent to a URL. */
export async function makeWebhook(
  client: ApiClient,
  url: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<z.infer<typeof webhookSchema>> {
  const answer = await client.post('/webhooks', { json: { name: 'ours', url, ...fields } })
  expect(answer.status, answer.text).toBe(201)
  return webhookSchema.parse(answer.json)
}

/** What was sent to a webhook, or is to be, the newest first. */
export async function deliveriesOf(client: ApiClient, { id }: { readonly id: string }): Promise<SeenDelivery[]> {
  const answer = await client.get(`/webhooks/${id}/deliveries?limit=200`)
  return z.object({ items: z.array(deliverySchema) }).parse(answer.json).items
}

/** Waits until its only delivery, or the newest, is as expected. */
export async function untilDelivery(
  client: ApiClient,
  webhook: { readonly id: string },
  expected: object,
): Promise<SeenDelivery> {
  await eventually(async () => (await deliveriesOf(client, webhook))[0]).toMatchObject(expected)
  const [delivery] = await deliveriesOf(client, webhook)
  if (!delivery) throw new Error('nothing was sent')
  return delivery
}
