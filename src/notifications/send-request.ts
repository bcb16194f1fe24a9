import { type AllowedHosts, assertAllowedHost, createVettedLookup, hostAndPortOf } from '../allowed-hosts.ts'
import { isAppError } from '../errors.ts'
import type { Outcome } from './attempts.ts'

/** How long a receiver may take for all of it. */
export const SEND_TIMEOUT_MS = 15_000

/** How much of an answer is read, for the sake of the receiver: nobody looks at it. */
const MAX_ANSWER_BYTES = 16 * 1024

const SETTING = 'WHARF_WEBHOOK_HOSTS'

export interface Request {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * Sends a notification. Only hosts that are allowed are reached, on addresses that have been vetted, and redirects are not
 * followed.
 *
 * @param signal aborted where this process has to end.
 * @throws only where `signal` is aborted.
 */
export async function sendRequest(request: Request, allowed: AllowedHosts, signal: AbortSignal): Promise<Outcome> {
  const { origin, pathname, search } = new URL(request.url)
  const server = hostAndPortOf(origin)
  const limit = AbortSignal.timeout(SEND_TIMEOUT_MS)
  const either = AbortSignal.any([limit, signal])
  // Not everybody has somebody to tell, and to load this is a part of each start.
  const { default: undici } = await import('undici')
  const agent = new undici.Agent({
    connect: { timeout: SEND_TIMEOUT_MS, lookup: createVettedLookup(server, allowed, { setting: SETTING }) },
  })
  try {
    assertAllowedHost(server, allowed, SETTING)
    const answer = await agent.request({
      ...{ origin, method: request.method, path: pathname + search, signal: either, headers: request.headers },
      ...(request.body !== undefined && { body: request.body }),
    })
    // Whatever comes of the rest, the receiver has said what it has to say.
    await answer.body.dump({ limit: MAX_ANSWER_BYTES, signal: either }).catch(() => undefined)
    return toOutcome(answer.statusCode, answer.headers['retry-after'])
  } catch (error) {
    signal.throwIfAborted()
    const reason = limit.aborted ? `no answer within ${SEND_TIMEOUT_MS / 1000} seconds` : reasonOf(error)
    return { kind: 'failed', answered: null, error: reason }
  } finally {
    await agent.destroy()
  }
}

const GONE = 410

/** The longest time that a receiver may ask for: beyond it, it is asked again. */
const MAX_RETRY_AFTER_SECONDS = 3_600

/** @param retryAfter the header of that name; dates in it do not count. */
function toOutcome(answered: number, retryAfter: string | string[] | undefined): Outcome {
  if (answered >= 200 && answered < 300) return { kind: 'sent', answered }
  if (answered === GONE) return { kind: 'gone', answered }
  const redirect = answered >= 300 && answered < 400 ? '; redirects are not followed' : ''
  const seconds = /^\d{1,9}$/.test(String(retryAfter)) ? Number(retryAfter) : 0
  return {
    kind: 'failed',
    answered,
    error: `the receiver answered with the status ${answered}${redirect}`,
    retryAfterMs: Math.min(seconds, MAX_RETRY_AFTER_SECONDS) * 1_000,
  }
}

/** Never the message of an error that is not Wharf's own, which may quote the URL. */
function reasonOf(error: unknown): string {
  const errors = [error, error instanceof Error ? error.cause : undefined]
  const own = errors.find((each) => isAppError(each))
  if (own) return own.message
  const codes = errors.flatMap((each) =>
    each instanceof Error && 'code' in each && typeof each.code === 'string' ? [each.code] : [],
  )
  return `the receiver cannot be reached, or the connection broke off (${codes[0] ?? 'unknown'})`
}
