import { randomUUID } from 'node:crypto'
import type { AllowedHosts } from '../allowed-hosts.ts'
import { readClock } from '../database/clock.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import { conflict, notFound } from '../errors.ts'
import type { Seal } from '../lib/seal.ts'
import { failWaiting } from './attempts.ts'
import { toWebhook, type Webhook } from './webhook.ts'
import { generateSecret, openAddress, readUrl, toAddressData, withNewSecret } from './webhook-address.ts'

/** How many there can be: each is sent one notification at a time, and none may wait for the others. */
const MAX_WEBHOOKS = 100

export interface WebhookServices {
  readonly control: Database
  readonly seal: Seal
  /** The hosts that notifications may be sent to. */
  readonly webhookHosts: AllowedHosts
}

type Settings = Pick<Webhook, 'name' | 'events' | 'jobKinds' | 'projects' | 'schedules'>

export interface NewWebhook extends Settings {
  readonly url: string
}

/** What is missing stays as it is. */
export type WebhookChange = { readonly [Field in keyof NewWebhook]?: NewWebhook[Field] | undefined } & {
  readonly enabled?: boolean | undefined
}

/**
 * @returns the secret that its requests are signed with, for the only time.
 * @throws {AppError} as `readUrl`; CONFLICT where there are as many as there can be.
 */
export async function createWebhook(
  { control: { prisma }, seal, webhookHosts }: WebhookServices,
  { url, ...settings }: NewWebhook,
): Promise<{ readonly webhook: Webhook; readonly secret: string }> {
  const address = { url: readUrl(url, webhookHosts), secret: generateSecret() }
  if ((await prisma.webhook.count({ where: { scheduleId: null } })) >= MAX_WEBHOOKS)
    throw conflict(`there are ${MAX_WEBHOOKS} webhooks already`)
  const id = randomUUID()
  const row = await prisma.webhook.create({
    data: { id, ...toSettingsData(settings), ...toAddressData(seal, id, address) },
  })
  return { webhook: toWebhook(row), secret: address.secret }
}

/** All of them, in the order in which they were made. */
export const listWebhooks = async (control: Queryable): Promise<readonly Webhook[]> =>
  (await control.webhook.findMany({ orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })).map(toWebhook)

/** @throws {AppError} NOT_FOUND */
export const findWebhook = async (control: Queryable, id: string): Promise<Webhook> =>
  toWebhook(await readRow(control, id))

/** @throws {AppError} NOT_FOUND; CONFLICT for a ping; as `readUrl`. */
export async function changeWebhook(
  { control, seal, webhookHosts }: WebhookServices,
  id: string,
  change: WebhookChange,
): Promise<Webhook> {
  const url = change.url === undefined ? undefined : readUrl(change.url, webhookHosts)
  return control.prisma.$transaction(async (tx) => {
    const { sealedAddress, ...stored } = await lockRow(tx, id)
    const before = toWebhook(stored)
    const enabled = change.enabled ?? before.enabled
    const settings = {
      name: change.name ?? before.name,
      events: change.events ?? before.events,
      jobKinds: change.jobKinds ?? before.jobKinds,
      projects: change.projects ?? before.projects,
      schedules: change.schedules ?? before.schedules,
    }
    const row = await tx.webhook.update({
      where: { id },
      data: {
        ...toSettingsData(settings),
        ...(url !== undefined && toAddressData(seal, id, { ...openAddress(seal, id, sealedAddress), url })),
        enabled,
        goneAt: enabled ? null : before.goneAt,
      },
    })
    if (!enabled) await failWaiting(tx, id, 'the webhook was disabled')
    return toWebhook(row)
  })
}

/**
 * Gives a webhook a new secret. For a day, its requests have a signature by each of the two.
 *
 * @returns the new secret, for the only time.
 * @throws {AppError} NOT_FOUND; CONFLICT for a ping.
 */
export async function rotateSecret({ control, seal }: WebhookServices, id: string): Promise<string> {
  const now = await readClock(control.prisma)
  return control.prisma.$transaction(async (tx) => {
    const { sealedAddress } = await lockRow(tx, id)
    const address = withNewSecret(openAddress(seal, id, sealedAddress), now)
    await tx.webhook.update({ where: { id }, data: toAddressData(seal, id, address) })
    return address.secret
  })
}

/** Deletes a webhook, with what was to be sent to it. @throws {AppError} NOT_FOUND; CONFLICT for a ping. */
export const deleteWebhook = ({ prisma }: Database, id: string): Promise<void> =>
  prisma.$transaction(async (tx) => {
    await lockRow(tx, id)
    await tx.webhook.delete({ where: { id } })
  })

async function readRow(control: Queryable, id: string) {
  const row = await control.webhook.findUnique({ where: { id } })
  if (!row) throw notFound('webhook', id)
  return row
}

/** @throws {AppError} CONFLICT for a ping, which is its schedule's. */
async function lockRow(tx: Transaction, id: string) {
  await tx.$queryRaw`SELECT FROM control.webhook WHERE id = ${id}::uuid FOR UPDATE`
  const row = await readRow(tx, id)
  if (row.scheduleId !== null) throw conflict(`this is the ping of the schedule ${row.scheduleId}: change the schedule`)
  return row
}

const toSettingsData = ({ name, events, jobKinds, projects, schedules }: Settings) => ({
  name,
  events: [...events],
  jobKinds: [...jobKinds],
  projects: [...projects],
  scheduleIds: [...schedules],
})
