import autocannon from 'autocannon'

/** How many ask at once. */
export const CONNECTIONS = 50

/** What clients get that ask again and again. */
export interface Figures {
  readonly perSecond: number
  readonly p99Ms: number
}

/** Asks for a URL again and again, by all connections, from another process than the one that answers. @throws where a request fails. */
export async function fire(url: string, headers: Readonly<Record<string, string>>, seconds: number): Promise<Figures> {
  const result = await autocannon({ url, headers: { ...headers }, connections: CONNECTIONS, duration: seconds })
  if (result.errors > 0) throw new Error(`${result.errors} requests failed`)
  return { perSecond: result.requests.average, p99Ms: result.latency.p99 }
}
