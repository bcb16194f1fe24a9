import { randomUUID } from 'node:crypto'
import type { AllowedHosts } from '../allowed-hosts.ts'
import type { NEW_WEBHOOK_KINDS } from '../contract/webhook.ts'
import { readClock } from '../database/clock.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import { conflict, notFound } from '../errors.ts'
import type { Seal } from '../lib/seal.ts'
import { failWaiting } from './attempts.ts'
import type { MailSettings } from './mail.ts'
import { toWebhook, type Webhook } from './webhook.ts'
import { generateSecret, openAddress, readUrl, toAddressData, withNewSecret } from './webhook-address.ts'

/** How many there can be: each is sent one notification at a time, and none may wait for the others. */
const MAX_WEBHOOKS = 100

export interface WebhookServices {
  readonly control: Database
  readonly seal: Seal
  /** The hosts that notifications may be sent to. */
  readonly webhookHosts: AllowedHosts
  /** Undefined where this server sends no mail. */
  readonly mail: MailSettings | undefined
}

type NewKind = (typeof NEW_WEBHOOK_KINDS)[number]

type Settings = Pick<Webhook, 'name' | 'events' | 'jobKinds' | 'projects' | 'schedules'>

export interface NewWebhook extends Settings {
  readonly kind: NewKind
  readonly url: string
}

/** What is missing stays as it is. */
export type WebhookChange = {
  readonly [Field in Exclude<keyof NewWebhook, 'kind'>]?: NewWebhook[Field] | undefined
} & {
  readonly enabled?: boolean | undefined
}

/**
 * @returns the secret that its requests are signed with, for the only time; null where its kind has none.
 * @throws {AppError} as `readUrl`; CONFLICT where there are as many as there can be, and for mail where none is sent.
 */
export async function createWebhook(
  { control: { prisma }, seal, webhookHosts, mail }: WebhookServices,
  { kind, url, ...settings }: NewWebhook,
): Promise<{ readonly webhook: Webhook; readonly secret: string | null }> {
  if (kind === 'mail' && !mail) throw conflict('this server sends no mail: set WHARF_SMTP_URL and WHARF_MAIL_FROM')
  const secret = kind === 'standard' ? generateSecret() : null
  const address = { url: readUrl(url, { kind, allowed: webhookHosts }), ...(secret !== null && { secret }) }
  if ((await prisma.webhook.count({ where: { scheduleId: null } })) >= MAX_WEBHOOKS)
    throw conflict(`there are ${MAX_WEBHOOKS} webhooks already`)
  const id = randomUUID()
  const row = await prisma.webhook.create({
    data: { id, kind, ...toSettingsData(settings), ...toAddressData(seal, id, address) },
  })
  return { webhook: toWebhook(row), secret }
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
  return control.prisma.$transaction(async (tx) => {
    const { sealedAddress, ...stored } = await lockRow(tx, id)
    const before = toWebhook(stored)
    const url = change.url === undefined ? undefined : readUrl(change.url, { kind: before.kind, allowed: webhookHosts })
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
 * @throws {AppError} NOT_FOUND; CONFLICT where it is of a kind that has none.
 */
export async function rotateSecret({ control, seal }: WebhookServices, id: string): Promise<string> {
  const now = await readClock(control.prisma)
  return control.prisma.$transaction(async (tx) => {
    const { kind, sealedAddress } = await lockRow(tx, id)
    if (kind !== 'standard') throw conflict(`what is sent to a webhook of the kind ${kind} is not signed`)
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
