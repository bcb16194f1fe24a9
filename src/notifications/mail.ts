import { once } from 'node:events'
import { within } from '../lib/within.ts'
import type { Attempt, Outcome } from './attempts.ts'
import { toMessage } from './message.ts'
import { SEND_TIMEOUT_MS } from './send-request.ts'
import { mailAddressesOf } from './webhook-address.ts'

/** How mail is sent. */
export interface MailSettings {
  /** `smtp://` or `smtps://`, with login and password where they are needed. */
  readonly smtpUrl: string
  /** The address that it is from. */
  readonly from: string
}

/**
 * Sends a notification by mail. Whichever server the operator has set takes it; over a connection that is encrypted where a
 * password is sent, but to this machine.
 *
 * @param to as a webhook has it: `mailto:…`
 * @param signal aborted where this process has to end.
 * @throws only where `signal` is aborted.
 */
export async function sendMail(
  attempt: Pick<Attempt, 'type' | 'data' | 'notificationId'>,
  to: string,
  { settings, signal }: { readonly settings: MailSettings | undefined; readonly signal: AbortSignal },
): Promise<Outcome> {
  if (!settings) return failed('this server sends no mail (WHARF_SMTP_URL, WHARF_MAIL_FROM)')
  const over = new AbortController()
  // Few send mail, and to load this is a part of each start.
  const { default: nodemailer } = await import('nodemailer')
  const transport = nodemailer.createTransport(toOptions(settings.smtpUrl))
  try {
    const { title, fields, url } = toMessage(attempt)
    const lines = [...fields.map(([name, value]) => `${name}: ${value}`), ...(url === undefined ? [] : ['', url])]
    const sent = transport.sendMail({
      from: settings.from,
      to: mailAddressesOf(to).map((address) => ({ name: '', address })),
      subject: `[Wharf] ${title}`,
      text: `${title}\n\n${lines.join('\n')}\n`,
      // The same each time, so that mailboxes can tell.
      messageId: `<${attempt.notificationId}@${settings.from.split('@').at(-1)}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    const info = await Promise.race([within(SEND_TIMEOUT_MS, sent, () => undefined), untilAborted(signal, over.signal)])
    if (!info) return failed(`the mail server gave no answer within ${SEND_TIMEOUT_MS / 1_000} seconds`)
    return { kind: 'sent', answered: Number.parseInt(info.response ?? '', 10) || 250 }
  } catch (error) {
    signal.throwIfAborted()
    return toFailure(error)
  } finally {
    over.abort()
    transport.close()
  }
}

function toOptions(smtpUrl: string) {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl)
  const secure = protocol === 'smtps:'
  const isHere = hostname === 'localhost' || hostname.startsWith('127.') || hostname === '[::1]'
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !secure && username !== '' && !isHere,
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: SEND_TIMEOUT_MS,
    greetingTimeout: SEND_TIMEOUT_MS,
    socketTimeout: SEND_TIMEOUT_MS,
  }
}

/** Rejects when the signal is aborted: nothing else ends a conversation with a mail server. @param over ends the wait. */
async function untilAborted(signal: AbortSignal, over: AbortSignal): Promise<never> {
  signal.throwIfAborted()
  await once(signal, 'abort', { signal: over })
  throw signal.reason
}

const failed = (error: string, answered: number | null = null): Outcome => ({ kind: 'failed', answered, error })

/** Never what the server says, which can quote addresses and logins. */
function toFailure(error: unknown): Outcome {
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown }
  const reason = typeof code === 'string' ? ` (${code})` : ''
  if (typeof responseCode === 'number')
    return failed(`the mail server answered with ${responseCode}${reason}`, responseCode)
  return failed(`the mail server cannot be reached, or the connection broke off${reason}`)
}
