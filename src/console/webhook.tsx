import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { stateOf, toldOf } from './notifications.tsx'
import { Pager, usePages } from './pages.tsx'
import { shown } from './shown.ts'
import { SureButton } from './sure-button.tsx'
import { type Column, Table } from './table.tsx'
import type { Delivery, Page, Webhook } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'
import { useNow } from './use-now.ts'
import { KIND_NAMES } from './webhook-kinds.ts'
import { Time, toCount } from './words.tsx'

const PAUSE_MS = 2_000

/** One webhook, with what was sent to it. */
export function WebhookView({ client, id }: { readonly client: Client; readonly id: string }) {
  const [changes, setChanges] = useState(0)
  const pages = usePages(id)
  const path = `/webhooks/${id}`
  const { value, failure } = useLive(
    `webhook ${id} ${changes} ${pages.after}`,
    async (signal) => {
      const query = new URLSearchParams({ limit: '50', ...pages.query })
      const [webhook, deliveries] = await Promise.all([
        client.json<Webhook>(path, { signal }),
        client.json<Page<Delivery>>(`${path}/deliveries?${query}`, { signal }),
      ])
      return { webhook, deliveries }
    },
    () => PAUSE_MS,
    true,
  )
  const reload = (): void => setChanges((count) => count + 1)
  return (
    <>
      <h1>{value ? shown(value.webhook.name) : 'Webhook'}</h1>
      <Failure text={failure} />
      {value && (
        <>
          <dl>
            <dt>Kind</dt>
            <dd>{KIND_NAMES[value.webhook.kind]}</dd>
            <dt>Where</dt>
            <dd>
              {value.webhook.address}
              {value.webhook.kind !== 'mail' && <span class="quiet">, the rest of the URL is a secret</span>}
            </dd>
            <dt>What it is told</dt>
            <dd>{toldOf(value.webhook)}</dd>
            <dt>State</dt>
            <dd>{stateOf(value.webhook)}</dd>
          </dl>
          <WebhookActions client={client} path={path} webhook={value.webhook} onChanged={reload} />
          <h2>Deliveries</h2>
          {value.deliveries.items.length === 0 && <p class="quiet">Nothing was sent yet.</p>}
          {value.deliveries.items.length > 0 && (
            <Deliveries client={client} path={path} deliveries={value.deliveries.items} onChanged={reload} />
          )}
          <Pager pages={pages} next={value.deliveries.next} what="deliveries" first="Newest deliveries" />
        </>
      )}
    </>
  )
}

interface ActionsProps {
  readonly client: Client
  readonly path: string
  readonly webhook: Webhook
  readonly onChanged: () => void
}

function WebhookActions({ client, path, webhook, onChanged }: ActionsProps) {
  const { isBusy, failure, act } = useAction()
  // That of a schedule is changed with its schedule.
  if (webhook.scheduleId !== null) {
    return (
      <p>
        It is the ping of <a href={`#/schedules/${webhook.scheduleId}`}>a schedule</a>.
      </p>
    )
  }
  const tryIt = async (): Promise<void> => {
    await client.json(`${path}/test`, { method: 'POST' })
    onChanged()
  }
  const toggle = async (): Promise<void> => {
    await client.json(path, { method: 'PATCH', json: { enabled: !webhook.enabled } })
    onChanged()
  }
  const remove = async (): Promise<void> => {
    await client.run(path, { method: 'DELETE' })
    location.hash = '/notifications'
  }
  return (
    <>
      <p class="actions">
        <button type="button" class="main" disabled={isBusy || !webhook.enabled} onClick={() => act(tryIt)}>
          Send a test
        </button>
        <button type="button" disabled={isBusy} onClick={() => act(toggle)}>
          {webhook.enabled ? 'Turn off' : 'Turn on'}
        </button>
        <SureButton word="Delete" isBusy={isBusy} onSure={() => act(remove)} />
      </p>
      <Failure text={failure} />
    </>
  )
}

interface DeliveriesProps {
  readonly client: Client
  readonly path: string
  readonly deliveries: readonly Delivery[]
  readonly onChanged: () => void
}

const Deliveries = ({ deliveries, ...same }: DeliveriesProps) => (
  <Table
    label="Deliveries"
    columns={[
      ...DELIVERY_COLUMNS,
      { title: 'Actions', isSpoken: true, draw: (delivery) => <Resend {...same} delivery={delivery} /> },
    ]}
    rows={deliveries}
    keyOf={({ id }) => id}
  />
)

const STATUS_CLASSES = { waiting: 'running', sent: 'succeeded', failed: 'failed' } as const

const DELIVERY_COLUMNS: readonly Column<Delivery>[] = [
  { title: 'What', draw: ({ type, jobId }) => (jobId ? <a href={`#/jobs/${jobId}`}>{type}</a> : type) },
  { title: 'When', draw: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: 'Status',
    draw: ({ status, dueAt, attempt }) => (
      <>
        <span class={`status ${STATUS_CLASSES[status]}`}>{status}</span>
        {dueAt && <NextTry dueAt={dueAt} isFirst={attempt === 0} />}
      </>
    ),
  },
  { title: 'Tries', isNumber: true, draw: ({ attempt }) => toCount(attempt) },
  { title: 'Answer', draw: ({ answered, error }) => [answered, error && shown(error)].filter(Boolean).join(' ') },
]

function NextTry({ dueAt, isFirst }: { readonly dueAt: string; readonly isFirst: boolean }) {
  const isDue = Date.parse(dueAt) <= useNow()
  if (isFirst) return <>, not tried yet</>
  if (isDue) return <>, its next try is due</>
  return (
    <>
      , next try <Time at={dueAt} />
    </>
  )
}

type ResendProps = Omit<DeliveriesProps, 'deliveries'> & { readonly delivery: Delivery }

function Resend({ client, path, delivery: { id, status }, onChanged }: ResendProps) {
  const { isBusy, failure, act } = useAction()
  const resend = async (): Promise<void> => {
    await client.json(`${path}/deliveries/${id}/resend`, { method: 'POST' })
    onChanged()
  }
  return (
    <>
      <button type="button" disabled={isBusy || status === 'waiting'} onClick={() => act(resend)}>
        Send again
      </button>
      <Failure text={failure} />
    </>
  )
}
