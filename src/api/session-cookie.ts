import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { type Seal, SealBroken } from '../lib/seal.ts'

/** The cookie that keeps a browser signed in: the token, sealed, until it ends. */
const COOKIE = 'wharf-session'

/**
 * A request only has the rights of a cookie where it has this header, too. No page of another origin can send it, since Wharf
 * allows none to (CORS); so no such page can have anything done in the name of who is signed in.
 */
export const SESSION_HEADER = 'wharf-session'

const SUBJECT = 'session of a browser'

const SECOND = 1_000

const sessionSchema = z.object({ token: z.string(), endsAt: z.number() })

/** Sessions of browsers, which need no record: they end with their token, and where their time is over. */
export interface Sessions {
  /**
   * @param token one that is valid.
   * @param isSecure whether the page is at `https`: then the cookie is sent nowhere else.
   * @returns the value of `Set-Cookie`.
   */
  begin(token: string, options: { readonly seconds: number; readonly isSecure: boolean }): string
  /** @returns the value of `Set-Cookie` that takes the cookie away. */
  end(): string
  /** The token of the session that a request belongs to; undefined where it belongs to none, or to one that has ended. */
  tokenOf(headers: IncomingHttpHeaders): string | undefined
}

/** @param nowMs the clock. */
export function createSessions(seal: Seal, nowMs: () => number = Date.now): Sessions {
  const open = (value: string): z.output<typeof sessionSchema> | undefined => {
    try {
      return sessionSchema.parse(JSON.parse(seal.unseal(Buffer.from(value, 'base64url'), SUBJECT)))
    } catch (error) {
      // Sealed with a key that is gone, or by somebody else.
      if (error instanceof SealBroken) return undefined
      throw error
    }
  }
  return {
    begin(token, { seconds, isSecure }) {
      const session = { token, endsAt: nowMs() + seconds * SECOND }
      const value = Buffer.from(seal.seal(JSON.stringify(session), SUBJECT)).toString('base64url')
      return `${COOKIE}=${value}; ${ATTRIBUTES}; Max-Age=${seconds}${isSecure ? '; Secure' : ''}`
    },
    end: () => `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0`,
    tokenOf(headers) {
      if (headers[SESSION_HEADER] === undefined || !isOfThisPage(headers)) return undefined
      const value = valueIn(headers.cookie)
      const session = value === undefined ? undefined : open(value)
      return session && session.endsAt > nowMs() ? session.token : undefined
    },
  }
}

const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict'

/** Whether a page of this server has sent it, as far as the browser says. */
const isOfThisPage = (headers: IncomingHttpHeaders): boolean =>
  headers['sec-fetch-site'] === undefined || headers['sec-fetch-site'] === 'same-origin'

function valueIn(cookies: string | undefined): string | undefined {
  for (const cookie of cookies?.split(';') ?? []) {
    const [name = '', value] = cookie.trim().split('=')
    if (name === COOKIE && value) return value
  }
  return undefined
}
