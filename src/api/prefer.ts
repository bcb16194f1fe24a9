import { splitPreferences } from '../lib/preferences.ts'

/** What a request prefers (RFC 7240), of what Wharf knows. Whatever is not understood is no preference. */
export interface Preferences {
  /** Whether the client would rather have a job than wait. */
  readonly respondAsync: boolean
  /** How many seconds the client would wait for something to have changed. */
  readonly waitSeconds: number | undefined
  /** Whether the client would rather have the bytes from this server than a redirect to where they are. */
  readonly noRedirect: boolean
}

/** @param header the values of all `Prefer` headers, with commas between them. */
export function parsePrefer(header: string | undefined): Preferences {
  const given = splitPreferences(header)
  const seconds = given.get('wait')
  return {
    respondAsync: given.get('respond-async') === '',
    waitSeconds: seconds !== undefined && /^\d{1,9}$/.test(seconds) ? Number(seconds) : undefined,
    noRedirect: given.get('no-redirect') === '',
  }
}
