import { type ListChange, readEvents, type ServerEvent, withChanges } from '../client/event-stream.ts'
import type { Client } from './client.ts'
import type { Job, Page } from './types.ts'

/** The events of a path. Another than of this name ends them: it says why nothing more will come. */
async function* eventsOf(
  client: Client,
  { path, name, signal }: { readonly path: string; readonly name: string; readonly signal: AbortSignal },
): AsyncGenerator<ServerEvent, void, undefined> {
  const { body } = await client.fetch(path, { headers: { accept: 'text/event-stream' }, signal })
  if (!body) return
  for await (const event of readEvents(body)) {
    if (event.name !== name) return
    yield event
  }
}

/** A job, until it has ended. */
export async function* followJob(client: Client, id: string, signal: AbortSignal): AsyncGenerator<Job> {
  for await (const { data } of eventsOf(client, { path: `/jobs/${id}/events`, name: 'job', signal })) {
    yield JSON.parse(data)
  }
}

/** A page of jobs. @param query as of `GET /jobs`. */
export async function* followJobs(client: Client, query: string, signal: AbortSignal): AsyncGenerator<Page<Job>> {
  let items: readonly Job[] = []
  for await (const { data } of eventsOf(client, { path: `/jobs/events?${query}`, name: 'jobs', signal })) {
    const change = JSON.parse(data) as ListChange<Job>
    items = withChanges(items, change)
    yield { items, next: change.next }
  }
}
