import { z } from 'zod'
import { mailSettingsOf } from '../../config.ts'
import type { Container } from '../../container.ts'
import { id } from '../../contract/fields.ts'
import { pageOf } from '../../contract/page.ts'
import {
  changedWebhook,
  createdWebhookSchema,
  DELIVERY_STATUSES,
  deliverySchema,
  newWebhook,
  webhookSchema,
} from '../../contract/webhook.ts'
import { type Delivery, findDelivery, listDeliveries, resend, sendTest } from '../../notifications/deliveries.ts'
import type { Webhook } from '../../notifications/webhook.ts'
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  rotateSecret,
} from '../../notifications/webhooks.ts'
import type { Caller } from '../../projects/access.ts'
import { empty, json } from '../answer.ts'
import { jsonBody } from '../body.ts'
import { pageQuery, readPage } from '../paging.ts'
import { type BoundRoute, routesUnder } from '../route.ts'

const route = routesUnder('Webhooks')
const access = { by: 'root' } as const
const params = z.object({ id })

const list = route('GET /webhooks', {
  operationId: 'listWebhooks',
  summary: 'Webhooks, in the order in which they were made; for the root token',
  access,
  answers: { 200: json(pageOf(webhookSchema), 'All of them.') },
})

const create = route('POST /webhooks', {
  operationId: 'createWebhook',
  summary: 'Has notifications sent to a URL; for the root token',
  description:
    'Requests are those of the Standard Webhooks specification, unless `kind` says otherwise. The answer is the only place where the secret is shown that ' +
    'they are signed with. Which hosts can be reached is up to WHARF_WEBHOOK_HOSTS.',
  access,
  body: jsonBody(newWebhook),
  answers: { 201: json(createdWebhookSchema, 'The new webhook.', { location: 'Path of the webhook.' }) },
  errors: ['CONFLICT'],
})

const show = route('GET /webhooks/{id}', {
  operationId: 'showWebhook',
  summary: 'One webhook; for the root token',
  access,
  params,
  answers: { 200: json(webhookSchema, 'The webhook.') },
  errors: ['NOT_FOUND'],
})

const change = route('PATCH /webhooks/{id}', {
  operationId: 'changeWebhook',
  summary: 'Changes a webhook; for the root token',
  description: 'What is missing stays as it is. What waits for a webhook that is disabled is not sent any more.',
  access,
  params,
  body: jsonBody(changedWebhook),
  answers: { 200: json(webhookSchema, 'The webhook as it is now.') },
  errors: ['NOT_FOUND', 'CONFLICT'],
})

const rotate = route('POST /webhooks/{id}/rotate', {
  operationId: 'rotateWebhookSecret',
  summary: 'Gives a webhook a new secret; for the root token',
  description: 'For a day, each request is signed with both: with the new one, and with the one until now.',
  access,
  params,
  answers: { 200: json(createdWebhookSchema, 'The webhook, with its new secret.') },
  errors: ['NOT_FOUND', 'CONFLICT'],
})

const remove = route('DELETE /webhooks/{id}', {
  operationId: 'deleteWebhook',
  summary: 'Deletes a webhook, with the log of what it was sent; for the root token',
  access,
  params,
  answers: { 204: empty('The webhook is gone, and nothing more is sent there.') },
  errors: ['NOT_FOUND', 'CONFLICT'],
})

const tryOut = route('POST /webhooks/{id}/test', {
  operationId: 'testWebhook',
  summary: 'Has a notification sent that says only that the webhook works; for the root token',
  access,
  params,
  answers: { 202: json(deliverySchema, 'What is going to be sent; its delivery says what became of it.') },
  errors: ['NOT_FOUND', 'CONFLICT'],
})

const deliveries = route('GET /webhooks/{id}/deliveries', {
  operationId: 'listDeliveries',
  summary: 'What was sent to a webhook in the last 30 days, or is to be, the newest first; for the root token',
  access,
  params,
  query: z.object({ ...pageQuery, after: id.optional(), status: z.enum(DELIVERY_STATUSES).optional() }),
  answers: { 200: json(pageOf(deliverySchema), 'A page of deliveries.') },
  errors: ['NOT_FOUND'],
})

const showOne = route('GET /webhooks/{id}/deliveries/{delivery}', {
  operationId: 'showDelivery',
  summary: 'What became of one notification; for the root token',
  access,
  params: z.object({ id, delivery: id }),
  answers: { 200: json(deliverySchema, 'The delivery.') },
  errors: ['NOT_FOUND'],
})

const again = route('POST /webhooks/{id}/deliveries/{delivery}/resend', {
  operationId: 'resendDelivery',
  summary: 'Has a notification sent again, with the id that it has; for the root token',
  access,
  params: z.object({ id, delivery: id }),
  answers: { 202: json(deliverySchema, 'The delivery, which waits again.') },
  errors: ['NOT_FOUND', 'CONFLICT'],
})

/** `/webhooks` */
export function webhookRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { control, seal, config } = container
  const { prisma } = control
  const services = { control, seal, webhookHosts: config.webhookHosts, mail: mailSettingsOf(config) }
  return [
    list.handle<Caller>(async () => {
      return { status: 200, body: { items: (await listWebhooks(prisma)).map(toWebhookBody), next: null } }
    }),
    create.handle<Caller>(async ({ body }) => {
      const { webhook, secret } = await createWebhook(services, body)
      const headers = { location: `/webhooks/${webhook.id}` }
      return { status: 201, headers, body: { ...toWebhookBody(webhook), secret } }
    }),
    show.handle<Caller>(async ({ params }) => {
      return { status: 200, body: toWebhookBody(await findWebhook(prisma, params.id)) }
    }),
    change.handle<Caller>(async ({ params, body }) => {
      return { status: 200, body: toWebhookBody(await changeWebhook(services, params.id, body)) }
    }),
    rotate.handle<Caller>(async ({ params }) => {
      const secret = await rotateSecret(services, params.id)
      return { status: 200, body: { ...toWebhookBody(await findWebhook(prisma, params.id)), secret } }
    }),
    remove.handle<Caller>(async ({ params }) => {
      await deleteWebhook(control, params.id)
      return { status: 204 }
    }),
    tryOut.handle<Caller>(async ({ params }) => {
      return { status: 202, body: toDeliveryBody(await sendTest(control, params.id)) }
    }),
    deliveries.handle<Caller>(async ({ params, query }) => {
      const find = (limit: number) => listDeliveries(prisma, params.id, { ...query, limit })
      const { items, next } = await readPage(query, find, (delivery) => delivery.id)
      return { status: 200, body: { items: items.map(toDeliveryBody), next } }
    }),
    showOne.handle<Caller>(async ({ params }) => {
      return { status: 200, body: toDeliveryBody(await findDelivery(prisma, params.id, params.delivery)) }
    }),
    again.handle<Caller>(async ({ params }) => {
      return { status: 202, body: toDeliveryBody(await resend(control, params.id, params.delivery)) }
    }),
  ]
}

const toWebhookBody = ({ events, jobKinds, projects, schedules, goneAt, createdAt, ...webhook }: Webhook) => ({
  ...webhook,
  ...{ events: [...events], jobKinds: [...jobKinds], projects: [...projects], schedules: [...schedules] },
  goneAt: goneAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
})

const toDeliveryBody = (delivery: Delivery) => {
  const { id, notificationId, type, jobId, status, attempt, answered, error } = delivery
  return {
    ...{ id, notificationId, type, jobId, status, attempt, answered, error },
    createdAt: delivery.createdAt.toISOString(),
    triedAt: delivery.triedAt?.toISOString() ?? null,
    dueAt: status === 'waiting' ? delivery.dueAt.toISOString() : null,
    endedAt: delivery.endedAt?.toISOString() ?? null,
  }
}
