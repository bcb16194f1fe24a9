import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { NewWebhook } from './new-webhook.tsx'
import { shown } from './shown.ts'
import { type Column, Table } from './table.tsx'
import type { Page, Webhook } from './types.ts'
import { useLive } from './use-live.ts'
import { KIND_NAMES } from './webhook-kinds.ts'
import { toCounted } from './words.tsx'

const PAUSE_MS = 10_000

/** Where others are told of what happens; for the root token. */
export function Notifications({ client }: { readonly client: Client }) {
  const [changes, setChanges] = useState(0)
  const { value, failure } = useLive(
    `webhooks ${changes}`,
    (signal) => client.json<Page<Webhook>>('/webhooks', { signal }),
    () => PAUSE_MS,
  )
  return (
    <>
      <h1>Notifications</h1>
      <Failure text={failure} />
      {value?.items.length === 0 && <p>Nobody is told of anything yet.</p>}
      {value && value.items.length > 0 && (
        <>
          <p class="quiet">Of URLs, only the server is shown: the rest of the URL is a secret.</p>
          <Table label="Webhooks" columns={COLUMNS} rows={value.items} keyOf={({ id }) => id} />
        </>
      )}
      <NewWebhook client={client} onMade={() => setChanges(changes + 1)} />
    </>
  )
}

const COLUMNS: readonly Column<Webhook>[] = [
  { title: 'Name', draw: ({ id, name }) => <a href={`#/notifications/${id}`}>{shown(name)}</a> },
  { title: 'Kind', draw: ({ kind }) => KIND_NAMES[kind] },
  { title: 'Where', draw: ({ address }) => address },
  { title: 'What it is told', draw: toldOf },
  { title: 'State', draw: stateOf },
]

/** What a webhook hears of, in words. */
export function toldOf({ events, jobKinds, projects, schedules }: Webhook): string {
  const parts = [
    events.length > 0 ? events.join(', ') : 'everything',
    ...(jobKinds.length > 0 ? [`only ${jobKinds.join(', ')}s`] : []),
    ...(projects.length > 0 ? [`of ${projects.join(', ')}`] : []),
    ...(schedules.length > 0 ? [`of ${toCounted(schedules.length, 'schedule')}`] : []),
  ]
  return parts.join(', ')
}

export function stateOf({ enabled, goneAt }: Webhook): string {
  if (enabled) return 'on'
  return goneAt ? 'off: it answered that it is gone' : 'off'
}
