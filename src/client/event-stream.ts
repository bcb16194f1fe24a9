/** One of the server-sent events of an answer. */
export interface ServerEvent {
  /** Its `event`. */
  readonly name: string
  /** Its `data`, in one line as Wharf sends it. */
  readonly data: string
}

/**
 * Reads server-sent events as they come. Comments, by which a service shows that it is still there, are left out.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export async function* readEvents(bytes: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = bytes.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      const events = (text + decoder.decode(value, { stream: true })).split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1]
        if (data !== undefined) yield { name: /^event: (.*)$/m.exec(event)?.[1] ?? 'message', data }
      }
    }
  } finally {
    // What its reader has no use for is not to go on coming.
    await reader.cancel().catch(() => undefined)
  }
}

/** What `GET /jobs/events` says of a page: all of its ids in order, and what is new on it or has changed. */
export interface ListChange<T> {
  readonly ids: readonly string[]
  readonly items: readonly T[]
  readonly next: string | null
}

/** @returns the items of a page after a change. */
export function withChanges<T extends { readonly id: string }>(
  before: readonly T[],
  { ids, items }: Pick<ListChange<T>, 'ids' | 'items'>,
): readonly T[] {
  const known = new Map([...before, ...items].map((item) => [item.id, item]))
  return ids.flatMap((id) => known.get(id) ?? [])
}
