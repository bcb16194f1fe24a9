/** What a request prefers (RFC 7240), of what Wharf knows. Whatever is not understood is no preference. */
export interface Preferences {
  /** Whether the client would rather have a job than wait. */
  readonly respondAsync: boolean
  /** How many seconds the client would wait for something to have changed. */
  readonly waitSeconds: number | undefined
}

/** @param header the values of all `Prefer` headers, with commas between them. */
export function parsePrefer(header: string | undefined): Preferences {
  const preferences = (header ?? '').split(',').map((part) => part.split(';')[0]?.trim().toLowerCase() ?? '')
  const [, seconds] =
    preferences.map((preference) => /^wait\s*=\s*"?(\d{1,9})"?$/.exec(preference)).find((match) => match !== null) ?? []
  return {
    respondAsync: preferences.includes('respond-async'),
    waitSeconds: seconds === undefined ? undefined : Number(seconds),
  }
}
