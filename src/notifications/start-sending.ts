import type { AllowedHosts } from '../allowed-hosts.ts'
import type { Database } from '../database/database.ts'
import { retryLevel } from '../database/sqlstate-meanings.ts'
import { type Repeating, repeat } from '../lib/repeat.ts'
import type { Seal } from '../lib/seal.ts'
import { within } from '../lib/within.ts'
import type { Logger } from '../logger.ts'
import { addressNotifications, type Describe } from './address-notifications.ts'
import { type Attempt, giveBack, type Outcome, recordOutcome, takeDue } from './attempts.ts'
import type { DeliveryCounts } from './delivery-counts.ts'
import { type MailSettings, sendMail } from './mail.ts'
import { sendRequest } from './send-request.ts'
import { toRequest } from './to-request.ts'
import { openAddress } from './webhook-address.ts'

/** How many webhooks one process sends to at once: more than there can be, but for pings of schedules. */
const MAX_AT_ONCE = 256

export interface SendingServices {
  readonly control: Database
  readonly seal: Seal
  readonly logger: Logger
  readonly deliveryCounts: DeliveryCounts
  readonly webhookHosts: AllowedHosts
  /** Undefined where this server sends no mail. */
  readonly mail: MailSettings | undefined
  readonly describe: Describe
  /** Says which program sends. */
  readonly generator: string
}

export interface SendingTimings {
  /** Between two looks at what is to be sent. */
  readonly notifyMs: number
  /** How long a process has a delivery: longer than it may take to send one. */
  readonly notifyLeaseMs: number
  /** How long sending may go on when the process is to stop. */
  readonly graceMs: number
}

/**
 * Sends notifications as they come: to each webhook one after the other, to all webhooks side by side. What was not known
 * to have arrived when a process died is sent again, with the same id, once its lease has ended.
 */
export function startSending(services: SendingServices, timings: SendingTimings): Repeating {
  const { control, logger } = services
  const stopping = new AbortController()
  const sending = new Set<Promise<void>>()
  let stopped = false

  const warn = (error: unknown): void => {
    logger[retryLevel(error)]({ err: error }, 'notifications could not be sent; it is tried again')
  }
  const take = (options: { readonly limit: number; readonly webhookId?: string }): Promise<readonly Attempt[]> =>
    stopped ? Promise.resolve([]) : takeDue(control.prisma, { ...options, leaseMs: timings.notifyLeaseMs })

  /** Goes on with what else is due for the same webhook, until nothing is. */
  const sendFrom = async (first: Attempt): Promise<void> => {
    for (let next: Attempt | undefined = first; next; ) {
      await send(services, next, stopping.signal)
      ;[next] = await take({ limit: 1, webhookId: first.webhookId })
    }
  }
  const look = async (): Promise<void> => {
    for (const attempt of await take({ limit: MAX_AT_ONCE - sending.size })) {
      const work = sendFrom(attempt)
        .catch(warn)
        .finally(() => sending.delete(work))
      sending.add(work)
    }
  }
  // Beside each other, so that neither keeps the other from going on.
  const turns = [
    repeat(timings.notifyMs, () => addressNotifications(control, services.describe), warn),
    repeat(timings.notifyMs, look, warn),
  ]
  return {
    async stop() {
      stopped = true
      await Promise.all(turns.map((turn) => turn.stop()))
      await within(timings.graceMs, Promise.all(sending), () => undefined)
      stopping.abort()
      await Promise.all(sending)
    },
  }
}

async function send(services: SendingServices, attempt: Attempt, signal: AbortSignal): Promise<void> {
  const { control, logger, deliveryCounts } = services
  const { webhookId, notificationId } = attempt
  try {
    const outcome = await tryOnce(services, attempt, signal).catch((error: unknown) => {
      signal.throwIfAborted()
      logger.error({ err: error, webhookId, notificationId }, 'a notification could not be sent, unexpectedly')
      return UNEXPECTED
    })
    const ended = await recordOutcome(control, attempt, outcome)
    deliveryCounts.count(ended ?? 'retried')
    if (outcome.kind === 'sent') return
    logger.warn({ webhookId, notificationId, attempt: attempt.attempt, outcome, ended }, 'a notification was not sent')
  } catch (error) {
    if (!signal.aborted) throw error
    await giveBack(control.prisma, attempt)
  }
}

const UNEXPECTED: Outcome = {
  kind: 'failed',
  answered: null,
  error: "something went wrong that should not have; the notification's id finds it in the log",
}

async function tryOnce(
  { seal, mail, webhookHosts, generator }: SendingServices,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Outcome> {
  const { kind } = attempt
  const address = openAddress(seal, attempt.webhookId, attempt.sealedAddress)
  if (kind === 'mail') return sendMail(attempt, address.url, { settings: mail, signal })
  const request = toRequest(attempt, kind, address)
  return sendRequest({ ...request, headers: { ...request.headers, 'user-agent': generator } }, webhookHosts, signal)
}
