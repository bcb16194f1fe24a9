import { randomUUID } from 'node:crypto'
import type { Queryable, Transaction } from '../database/database.ts'
import type { Seal } from '../lib/seal.ts'
import type { Attempt } from './attempts.ts'
import type { Request } from './send-request.ts'
import { toAddressData, type WebhookAddress } from './webhook-address.ts'

/** Which URL is asked for when runs of a schedule succeed; if wanted, with `/start` and `/fail` for these. */
export interface NewPing {
  /** As `readUrl` gives it. */
  readonly url: string
  readonly start: boolean
  readonly fail: boolean
}

/** The same as it may be shown. */
export interface Ping {
  readonly address: string
  readonly start: boolean
  readonly fail: boolean
  /** False where the URL has answered that it is gone. */
  readonly enabled: boolean
}

/** The schedule that a ping is of. */
interface Pinged {
  readonly id: string
  readonly name: string
}

const nameOf = ({ name }: Pinged): string => `ping of ${name}`

/** Has a ping go by the name that its schedule has now. */
export const renamePing = (tx: Transaction, schedule: Pinged): Promise<unknown> =>
  tx.webhook.updateMany({ where: { scheduleId: schedule.id }, data: { name: nameOf(schedule) } })

/** Gives a schedule another ping, in place of the one that it has; or none. */
export async function setPing(tx: Transaction, seal: Seal, schedule: Pinged, ping: NewPing | null): Promise<void> {
  const { id: scheduleId } = schedule
  await tx.webhook.deleteMany({ where: { scheduleId } })
  if (!ping) return
  const id = randomUUID()
  const events = ['job.succeeded', ...(ping.start ? ['job.started'] : []), ...(ping.fail ? ['job.failed'] : [])]
  await tx.webhook.create({
    data: {
      ...{ id, kind: 'ping', name: nameOf(schedule), scheduleId, scheduleIds: [scheduleId], events },
      ...toAddressData(seal, id, { url: ping.url }),
    },
  })
}

/** The pings of schedules, by their ids. */
export async function readPings(
  control: Queryable,
  scheduleIds: readonly string[],
): Promise<ReadonlyMap<string, Ping>> {
  const rows = await control.webhook.findMany({ where: { scheduleId: { in: [...scheduleIds] } } })
  return new Map(
    rows.map(({ scheduleId, address, events, enabled }) => [
      scheduleId ?? '',
      { address, enabled, start: events.includes('job.started'), fail: events.includes('job.failed') },
    ]),
  )
}

const SUFFIXES: Readonly<Record<string, string>> = {
  'job.started': '/start',
  'job.failed': '/fail',
  'proof.failed': '/fail',
}

/** What services that wait for signs of life expect: healthchecks.io, and those that do as it does. */
export function toPing({ type }: Pick<Attempt, 'type'>, { url: given }: WebhookAddress): Request {
  const url = new URL(given)
  const suffix = SUFFIXES[type]
  if (suffix) url.pathname = url.pathname.replace(/\/$/, '') + suffix
  return { method: 'GET', url: url.href, headers: {} }
}
