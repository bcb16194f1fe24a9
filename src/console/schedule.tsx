import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { Glossary } from './glossary.tsx'
import { Legend } from './legend.tsx'
import { RunStrip } from './run-strip.tsx'
import { Runs } from './runs.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { Overdue, whatOf } from './schedules.tsx'
import { shown } from './shown.ts'
import { SureButton } from './sure-button.tsx'
import { Times } from './times.tsx'
import { cronInWords } from './timing.ts'
import type { Job, ScheduleDetail } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'
import { useTitle } from './use-title.ts'
import { toCounted } from './words.tsx'

const PAUSE_MS = 3_000

/** One schedule: when it runs, what came of it, and how to change it. */
export function ScheduleView({ client, id }: { readonly client: Client; readonly id: string }) {
  const [changes, setChanges] = useState(0)
  const [isEdited, setEdited] = useState(false)
  const { value: schedule, failure } = useLive(
    `schedule ${id} ${changes}`,
    (signal) => client.json<ScheduleDetail>(`/schedules/${id}`, { signal }),
    () => PAUSE_MS,
  )
  const reload = (): void => setChanges((count) => count + 1)
  useTitle(schedule && shown(schedule.name))
  if (isEdited && schedule) {
    const done = (): void => {
      setEdited(false)
      reload()
    }
    return <ScheduleForm client={client} schedule={schedule} onDone={done} />
  }
  return (
    <>
      <h1>{schedule ? shown(schedule.name) : 'Schedule'}</h1>
      <Failure text={failure} />
      {schedule && (
        <>
          <Overdue schedule={schedule} />
          <ScheduleFacts schedule={schedule} />
          <ScheduleActions client={client} schedule={schedule} onChanged={reload} onEdit={() => setEdited(true)} />
          <h2>Runs</h2>
          {schedule.runs.length > 0 && (
            <Legend of="runs">What came of the newest runs, the last one at the end. Choose one to see its job.</Legend>
          )}
          <RunStrip schedule={schedule} />
          <Runs client={client} schedule={schedule} />
          <Glossary />
        </>
      )}
    </>
  )
}

function ScheduleFacts({ schedule }: { readonly schedule: ScheduleDetail }) {
  const { keep, alarms, cron, timezone, enabled, nextRuns, verify } = schedule
  const words = cronInWords(cron)
  const rules = [
    ...(keep.last === undefined ? [] : [`the last ${keep.last}`]),
    ...(keep.days === undefined ? [] : [`those of ${keep.days} days`]),
  ]
  return (
    <dl>
      <dt>What</dt>
      <dd>{whatOf(schedule)}</dd>
      <dt>When</dt>
      <dd>
        {words ? `${words}, ${timezone} ` : ''}
        <code class={words ? 'quiet' : ''}>{cron}</code>
        {words ? '' : `, ${timezone}`}
      </dd>
      <dt>Next runs</dt>
      <dd>{enabled ? <Times times={nextRuns.slice(0, 5)} timezone={timezone} /> : 'paused'}</dd>
      {schedule.kind === 'export' && (
        <>
          <dt>Archives kept</dt>
          <dd>{rules.length === 0 ? 'all' : rules.join(', and ')}</dd>
          <dt>Overdue</dt>
          <dd>
            {alarms.maxAgeHours === undefined
              ? 'no alarm, however long there is no new archive'
              : `after ${toCounted(alarms.maxAgeHours, 'hour')} without a new ${verify ? 'proven archive' : 'archive'}`}
          </dd>
        </>
      )}
    </dl>
  )
}

interface ActionsProps {
  readonly client: Client
  readonly schedule: ScheduleDetail
  readonly onChanged: () => void
  readonly onEdit: () => void
}

function ScheduleActions({ client, schedule: { id, enabled }, onChanged, onEdit }: ActionsProps) {
  const [isAsked, setAsked] = useState(false)
  const { isBusy, failure, act } = useAction()
  const path = `/schedules/${id}`
  const run = async (): Promise<void> => {
    const job = await client.json<Job>(`${path}/run`, { method: 'POST' })
    location.hash = `/jobs/${job.id}`
  }
  const pause = async (): Promise<void> => {
    await client.json(path, { method: 'PATCH', json: { enabled: !enabled } })
    onChanged()
  }
  const remove = async (): Promise<void> => {
    await client.run(path, { method: 'DELETE' })
    location.hash = '/schedules'
  }
  return (
    <>
      <p class="actions">
        <button type="button" class="main" disabled={isBusy} onClick={() => act(run)}>
          Run now
        </button>
        <button type="button" disabled={isBusy} onClick={() => act(pause)}>
          {enabled ? 'Pause' : 'Resume'}
        </button>
        <button type="button" disabled={isBusy} onClick={onEdit}>
          Change
        </button>
        <SureButton word="Delete" isBusy={isBusy} onSure={() => act(remove)} onAsked={() => setAsked(true)} />
      </p>
      <p role="status">{isAsked && 'Its archives stay, for as long as those of any other job.'}</p>
      <Failure text={failure} />
    </>
  )
}
