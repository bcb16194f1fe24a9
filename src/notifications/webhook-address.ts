import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { type AllowedHosts, assertAllowedHost, hostAndPortOf } from '../allowed-hosts.ts'
import { invalidRequest } from '../errors.ts'
import type { Seal } from '../lib/seal.ts'
import { webhookSubject } from '../projects/sealed-subjects.ts'
import type { WebhookKind } from './webhook.ts'

/** As the Standard Webhooks specification has it. */
const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** For how long requests are signed with the secret before the last one, too. */
const OVERLAP_MS = 24 * 60 * 60_000

const addressSchema = z.object({
  url: z.string(),
  /** What its requests are signed with; missing where they are not. */
  secret: z.string().optional(),
  /** The secret before, and until when requests are signed with it as well. */
  previous: z.object({ secret: z.string(), until: z.coerce.date() }).optional(),
})

/** What is secret of a webhook. */
export type WebhookAddress = Readonly<z.output<typeof addressSchema>>

export const generateSecret = (): string => SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')

/** The same address with a new secret; the one until now counts for another day. */
export const withNewSecret = ({ url, secret }: WebhookAddress, now: Date) => ({
  url,
  secret: generateSecret(),
  ...(secret !== undefined && { previous: { secret, until: new Date(now.getTime() + OVERLAP_MS) } }),
})

/** The secrets by which a request is signed. */
export const secretsAt = ({ secret, previous }: WebhookAddress, now: Date): readonly string[] => [
  ...(secret === undefined ? [] : [secret]),
  ...(previous && previous.until > now ? [previous.secret] : []),
]

/** The columns of a webhook's record that have its address. */
export const toAddressData = (seal: Seal, id: string, address: WebhookAddress) => ({
  address: shownAddress(address.url),
  sealedAddress: seal.seal(JSON.stringify(address), webhookSubject(id)),
})

export const openAddress = (seal: Seal, id: string, sealedAddress: Uint8Array): WebhookAddress =>
  addressSchema.parse(JSON.parse(seal.unseal(sealedAddress, webhookSubject(id))))

/** What of a URL may be shown. Addresses of mail are no secrets. */
const shownAddress = (url: string): string =>
  url.startsWith(MAIL) ? mailAddressesOf(url).join(', ') : new URL(url).origin

const MAIL = 'mailto:'

/** The addresses of mail in a URL that `readUrl` gave. */
export const mailAddressesOf = (url: string): readonly string[] => url.slice(MAIL.length).split(',')

const MAX_MAIL_ADDRESSES = 20
const MAIL_ADDRESS = /^[^\s@,:;<>"()[\]\\]+@[^\s@,:;<>"()[\]\\]+$/

/**
 * Reads a URL to which notifications are to be sent. Messages never quote it, since its path can be a secret.
 *
 * @param options.pointer to its field of the request.
 * @throws {AppError} INVALID_REQUEST; FORBIDDEN where this server may not reach it.
 */
export function readUrl(
  text: string,
  {
    kind,
    allowed,
    pointer = '/url',
  }: { readonly kind: WebhookKind; readonly allowed: AllowedHosts; readonly pointer?: string },
): string {
  const fault = kind === 'mail' ? faultOfMail(text) : URL.canParse(text) ? faultOf(new URL(text), kind) : 'is not a URL'
  if (fault !== undefined) throw invalidRequest('the URL cannot be used', [{ pointer, detail: fault }])
  if (kind === 'mail') return text
  const url = new URL(text)
  url.hash = ''
  assertAllowedHost(hostAndPortOf(url.origin), allowed, 'WHARF_WEBHOOK_HOSTS')
  return url.href
}

function faultOfMail(text: string): string | undefined {
  const addresses = text.startsWith(MAIL) ? mailAddressesOf(text) : []
  const areGood = addresses.length > 0 && addresses.every((address) => MAIL_ADDRESS.test(address))
  if (!areGood) return 'must be addresses of mail: mailto:ops@example.org,other@example.org'
  return addresses.length > MAX_MAIL_ADDRESSES ? `must have no more than ${MAX_MAIL_ADDRESSES} addresses` : undefined
}

function faultOf(url: URL, kind: WebhookKind): string | undefined {
  const { protocol, username, password, pathname, searchParams } = url
  if (protocol !== 'https:' && protocol !== 'http:') return 'must begin with https:// or http://'
  if (username || password) return 'must not have a user name or a password'
  if (kind === 'telegram' && !(pathname.endsWith('/sendMessage') && searchParams.get('chat_id'))) {
    return 'must be that of a bot: https://api.telegram.org/bot<token>/sendMessage?chat_id=<chat>'
  }
  return kind === 'ntfy' && !/^\/[\w-]+$/.test(pathname)
    ? 'must be that of a topic: https://ntfy.sh/<topic>'
    : undefined
}
