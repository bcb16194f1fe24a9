import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { type AllowedHosts, assertAllowedHost, hostAndPortOf } from '../allowed-hosts.ts'
import { invalidRequest } from '../errors.ts'
import type { Seal } from '../lib/seal.ts'
import { webhookSubject } from '../projects/sealed-subjects.ts'

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
  address: new URL(address.url).origin,
  sealedAddress: seal.seal(JSON.stringify(address), webhookSubject(id)),
})

export const openAddress = (seal: Seal, id: string, sealedAddress: Uint8Array): WebhookAddress =>
  addressSchema.parse(JSON.parse(seal.unseal(sealedAddress, webhookSubject(id))))

/**
 * Reads a URL to which notifications are to be sent. Messages never quote it, since its path can be a secret.
 *
 * @param pointer to its field of the request.
 * @throws {AppError} INVALID_REQUEST; FORBIDDEN where this server may not reach it.
 */
export function readUrl(text: string, allowed: AllowedHosts, pointer = '/url'): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const fault = url ? faultOf(url) : 'is not a URL'
  if (!url || fault) throw invalidRequest('the URL cannot be used', [{ pointer, detail: fault ?? '' }])
  url.hash = ''
  assertAllowedHost(hostAndPortOf(url.origin), allowed, 'WHARF_WEBHOOK_HOSTS')
  return url.href
}

function faultOf({ protocol, username, password }: URL): string | undefined {
  if (protocol !== 'https:' && protocol !== 'http:') return 'must begin with https:// or http://'
  return username || password ? 'must not have a user name or a password' : undefined
}
