import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { Secret } from './secret.tsx'
import { shown } from './shown.ts'
import type { CreatedWebhook } from './types.ts'
import { useAction } from './use-action.ts'
import { KIND_NAMES } from './webhook-kinds.ts'

/** The ping of a schedule is made with it. */
const KINDS = Object.entries(KIND_NAMES).filter(([kind]) => kind !== 'ping')

const EVENTS = [
  ['', 'everything'],
  ['job.failed,schedule.missed,archive.overdue,archive.shrunk', 'only what goes wrong'],
] as const

interface NewWebhookProps {
  readonly client: Client
  readonly onMade: () => void
}

/** Makes a webhook; the secret of one that is signed is shown once. */
export function NewWebhook({ client, onMade }: NewWebhookProps) {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<string>('standard')
  const [url, setUrl] = useState('')
  const [events, setEvents] = useState('')
  const [made, setMade] = useState<CreatedWebhook>()
  const { isBusy, failure, act } = useAction()
  const make = async (): Promise<void> => {
    const json = { name, kind, url, events: events === '' ? [] : events.split(',') }
    const created = await client.json<CreatedWebhook>('/webhooks', { method: 'POST', json })
    setMade(created.secret === null ? undefined : created)
    setName('')
    setUrl('')
    onMade()
  }
  if (made) {
    return (
      <Secret
        label="The secret"
        name={shown(made.name)}
        says="Its requests are signed with this secret."
        secret={made.secret ?? ''}
        onClose={() => setMade(undefined)}
      />
    )
  }
  return (
    <form
      class="fields"
      aria-label="New notification"
      onSubmit={(event) => {
        event.preventDefault()
        act(make)
      }}
    >
      <h2>New notification</h2>
      <label for="webhook-name">Name</label>
      <input id="webhook-name" required value={name} onInput={(event) => setName(event.currentTarget.value)} />
      <label for="webhook-kind">Kind</label>
      <select id="webhook-kind" value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
        {KINDS.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
      <label for="webhook-url">
        {kind === 'mail' ? 'Addresses, as mailto:a@example.org' : 'URL (a secret: it is not shown again)'}
      </label>
      <input id="webhook-url" required value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
      <label for="webhook-events">What it is told</label>
      <select id="webhook-events" value={events} onChange={(event) => setEvents(event.currentTarget.value)}>
        {EVENTS.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
      <button type="submit" class="main" disabled={isBusy}>
        Save
      </button>
      <Failure text={failure} />
    </form>
  )
}
