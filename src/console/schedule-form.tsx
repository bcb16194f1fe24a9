import { useState } from 'preact/hooks'
import { ArchiveFields, type ArchiveRules, keepOf } from './archive-fields.tsx'
import { type Client, RequestError } from './client.ts'
import { Failure } from './failure.tsx'
import { ProjectChoice, slugsOf } from './project-choice.tsx'
import { readProjects } from './read-projects.ts'
import { shown } from './shown.ts'
import { SubmitButton } from './submit-button.tsx'
import { Times } from './times.tsx'
import { fromCron, type Picked, type Rhythm, toCron, USUAL, WEEKDAYS } from './timing.ts'
import type { Me, NextRuns, ScheduleDetail } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'
import { browserZone } from './words.tsx'

/** Stands for all projects, also those that do not exist yet. */
const ALL = '*'

interface FormProps {
  readonly client: Client
  /** The one that is changed; undefined for a new one. */
  readonly schedule?: ScheduleDetail
  readonly onDone?: () => void
}

interface Fields extends ArchiveRules {
  readonly name: string
  readonly kind: 'export' | 'transfer'
  readonly project: string
  /** Of a transfer. */
  readonly target: string
  readonly picked: Picked
  readonly timezone: string
}

const newFields = (): Fields => ({
  ...{ name: 'nightly', kind: 'export', project: '', target: '', picked: USUAL },
  ...{ keepLast: '30', keepDays: '', maxAgeHours: '36', verify: true },
  timezone: browserZone(),
})

const fieldsOf = ({ name, kind, cron, timezone, keep, alarms, verify }: ScheduleDetail): Fields => ({
  ...{ name, kind, timezone, verify, project: '', target: '', picked: fromCron(cron) },
  keepLast: String(keep.last ?? ''),
  keepDays: String(keep.days ?? ''),
  maxAgeHours: String(alarms.maxAgeHours ?? ''),
})

const requestOf = ({ kind, project, target }: Fields) => {
  if (kind === 'transfer') return { source: { project }, target: { project: target } }
  return project === ALL ? { patterns: [{ pattern: ALL }] } : { projects: [{ slug: project }] }
}

/** Whether everything is picked that a new schedule is of. */
const isPicked = ({ kind, project, target }: Fields): boolean =>
  kind === 'transfer' ? project !== '' && target !== '' : project !== ''

const firstOf = ({ kind }: Fields): string =>
  kind === 'transfer' ? 'Choose both projects first.' : 'Choose a project first.'

/** Makes a schedule, or changes one, by picking. */
export function ScheduleForm({ client, schedule, onDone }: FormProps) {
  const [fields, setFields] = useState(() => (schedule ? fieldsOf(schedule) : newFields()))
  const { isBusy, failure, act } = useAction()
  const set = (changed: Partial<Fields>): void => setFields((before) => ({ ...before, ...changed }))
  const cron = toCron(fields.picked)
  const save = async (): Promise<void> => {
    const { name, timezone, verify } = fields
    const alarms = {
      ...schedule?.alarms,
      maxAgeHours: fields.maxAgeHours === '' ? undefined : Number(fields.maxAgeHours),
    }
    const archives = fields.kind === 'export' && { keep: keepOf(fields), alarms, verify }
    const settings = { name, cron, timezone, ...archives }
    if (schedule) {
      await client.json(`/schedules/${schedule.id}`, { method: 'PATCH', json: settings })
      onDone?.()
      return
    }
    const json = { ...settings, kind: fields.kind, request: requestOf(fields) }
    const { id } = await client.json<ScheduleDetail>('/schedules', { method: 'POST', json })
    location.hash = `/schedules/${id}`
  }
  return (
    <>
      <h1>{schedule ? `Change ${shown(schedule.name)}` : 'New schedule'}</h1>
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault()
          act(save)
        }}
      >
        <label for="name">Name</label>
        <input id="name" required value={fields.name} onInput={(event) => set({ name: event.currentTarget.value })} />
        {!schedule && <SubjectFields client={client} fields={fields} set={set} />}
        <RhythmFields picked={fields.picked} onChange={(picked) => set({ picked })} />
        <label for="timezone">Time zone</label>
        <input
          id="timezone"
          list="timezones"
          required
          value={fields.timezone}
          onInput={(event) => set({ timezone: event.currentTarget.value })}
        />
        <datalist id="timezones">
          {Intl.supportedValuesOf('timeZone').map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <Preview client={client} cron={cron} timezone={fields.timezone} />
        {fields.kind === 'export' && (
          <ArchiveFields client={client} scheduleId={schedule?.id} rules={fields} set={set} />
        )}
        <SubmitButton word="Save" isBusy={isBusy} first={schedule || isPicked(fields) ? undefined : firstOf(fields)}>
          {onDone && (
            <button type="button" onClick={onDone}>
              Leave it as it is
            </button>
          )}
        </SubmitButton>
        <Failure text={failure} />
      </form>
    </>
  )
}

interface SubjectProps {
  readonly client: Client
  readonly fields: Fields
  readonly set: (changed: Partial<Fields>) => void
}

/** What a new schedule does, and to which projects. */
function SubjectFields({ client, fields: { kind, project, target }, set }: SubjectProps) {
  const { value, failure } = useLive(
    'projects of a schedule',
    async (signal) => {
      const [me, projects] = await Promise.all([client.json<Me>('/me', { signal }), readProjects(client, signal)])
      return { me, projects }
    },
    () => undefined,
  )
  const may = (permission: 'export' | 'import'): readonly string[] => (value ? slugsOf(value, permission) : [])
  return (
    <>
      <label for="kind">What it does</label>
      <select
        id="kind"
        value={kind}
        onChange={(event) => set({ kind: event.currentTarget.value as Fields['kind'], project: '', target: '' })}
      >
        <option value="export">export: makes an archive</option>
        <option value="transfer">transfer: replaces a project by a copy of another</option>
      </select>
      <ProjectChoice
        id="project"
        title={kind === 'export' ? 'Project' : 'From'}
        value={project}
        slugs={may('export')}
        onChange={(chosen) => set({ project: chosen })}
      >
        {kind === 'export' && <option value={ALL}>all that this token may export, new ones too</option>}
      </ProjectChoice>
      {kind === 'transfer' && (
        <ProjectChoice
          id="transfer-target"
          title="To: each run replaces what it has"
          value={target}
          slugs={may('import').filter((slug) => slug !== project)}
          onChange={(chosen) => set({ target: chosen })}
        />
      )}
      <Failure text={failure} />
    </>
  )
}

const RHYTHMS: readonly (readonly [Rhythm, string])[] = [
  ['hour', 'every hour'],
  ['day', 'every day'],
  ['week', 'every week'],
  ['month', 'every month'],
  ['cron', 'as a cron expression says'],
]

interface RhythmProps {
  readonly picked: Picked
  readonly onChange: (picked: Picked) => void
}

function RhythmFields({ picked, onChange }: RhythmProps) {
  const set = (changed: Partial<Picked>): void => onChange({ ...picked, ...changed })
  const { rhythm } = picked
  return (
    <>
      <label for="rhythm">How often</label>
      <select
        id="rhythm"
        value={rhythm}
        onChange={(event) => set({ rhythm: event.currentTarget.value as Rhythm, cron: toCron(picked) })}
      >
        {RHYTHMS.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
      {rhythm === 'week' && (
        <>
          <label for="weekday">On</label>
          <select id="weekday" value={picked.weekday} onChange={(event) => set({ weekday: event.currentTarget.value })}>
            {WEEKDAYS.map((name, index) => (
              <option key={name} value={String(index)}>
                {name}
              </option>
            ))}
          </select>
        </>
      )}
      {rhythm === 'month' && (
        <>
          <label for="day">On day</label>
          <input
            id="day"
            type="number"
            min="1"
            max="31"
            required
            value={picked.day}
            onInput={(event) => set({ day: event.currentTarget.value })}
          />
        </>
      )}
      {rhythm !== 'cron' && (
        <>
          <label for="time">{rhythm === 'hour' ? 'At the minutes of' : 'At'}</label>
          <input
            id="time"
            type="time"
            required
            value={picked.time}
            onInput={(event) => set({ time: event.currentTarget.value })}
          />
        </>
      )}
      {rhythm === 'cron' ? (
        <>
          <label for="cron">Cron expression</label>
          <input id="cron" required value={picked.cron} onInput={(event) => set({ cron: event.currentTarget.value })} />
        </>
      ) : (
        <span class="quiet">
          As a cron expression: <code>{toCron(picked)}</code>
        </span>
      )}
    </>
  )
}

interface PreviewProps {
  readonly client: Client
  readonly cron: string
  readonly timezone: string
}

function Preview({ client, cron, timezone }: PreviewProps) {
  const { value, failure } = useLive<NextRuns | string>(
    `times ${cron} ${timezone}`,
    (signal) => {
      const asked = { method: 'POST', json: { cron, timezone }, signal } as const
      return client.json<NextRuns>('/schedules/preview', asked).catch((error: unknown) => {
        // It is being typed: asking again would change nothing.
        if (error instanceof RequestError && error.status === 400) return error.message
        throw error
      })
    },
    () => undefined,
  )
  const refused = typeof value === 'string' ? value : undefined
  return (
    <div role="status">
      {value !== undefined && typeof value !== 'string' && (
        <>
          <span class="quiet">Next runs</span>
          <Times times={value.nextRuns} timezone={timezone} />
        </>
      )}
      {(refused ?? failure) !== undefined && <p class="failure">{refused ?? failure}</p>}
    </div>
  )
}
