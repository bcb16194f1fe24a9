import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { NewWebhook } from './new-webhook.tsx'
import { Scrolling } from './scrolling.tsx'
import type { Page, Webhook } from './types.ts'
import { useLive } from './use-live.ts'
import { shown } from './words.tsx'

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
        <Scrolling label="Webhooks">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Kind</th>
                <th scope="col">Where</th>
                <th scope="col">Told of</th>
                <th scope="col">State</th>
              </tr>
            </thead>
            <tbody>
              {value.items.map((webhook) => (
                <tr key={webhook.id}>
                  <th scope="row">
                    <a href={`#/notifications/${webhook.id}`}>{shown(webhook.name)}</a>
                  </th>
                  <td>{webhook.kind}</td>
                  <td>{webhook.address}</td>
                  <td>{toldOf(webhook)}</td>
                  <td>{stateOf(webhook)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolling>
      )}
      <NewWebhook client={client} onMade={() => setChanges(changes + 1)} />
    </>
  )
}

/** What a webhook hears of, in words. */
export function toldOf({ events, jobKinds, projects, schedules }: Webhook): string {
  const parts = [
    events.length > 0 ? events.join(', ') : 'everything',
    ...(jobKinds.length > 0 ? [`only ${jobKinds.join(', ')}s`] : []),
    ...(projects.length > 0 ? [`of ${projects.join(', ')}`] : []),
    ...(schedules.length > 0 ? [`of ${schedules.length} schedules`] : []),
  ]
  return parts.join(', ')
}

export const stateOf = ({ enabled, goneAt }: Webhook): string =>
  enabled ? 'on' : goneAt ? 'off: it answered that it is gone' : 'off'
