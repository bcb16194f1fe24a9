import { useState } from 'preact/hooks'
import { type Client, detailOfError } from './client.ts'
import { Failure } from './failure.tsx'
import { RunStrip } from './run-strip.tsx'
import type { Job, Page, Project, Run, Schedule } from './types.ts'
import { useLive } from './use-live.ts'
import { projectsOf, Time } from './words.tsx'

const PAUSE_MS = 10_000

interface Seen {
  readonly projects: Page<Project>
  readonly schedules: Page<Schedule>
}

/** Each project with its stages, and the archives that schedules have made of it. */
export function Overview({ client }: { readonly client: Client }) {
  const [after, setAfter] = useState('')
  const page = after && `&after=${encodeURIComponent(after)}`
  const { value, failure } = useLive<Seen>(
    `overview ${after}`,
    async (signal) => {
      const [projects, schedules] = await Promise.all([
        client.json<Page<Project>>(`/projects?limit=50${page}`, { signal }),
        client.json<Page<Schedule>>('/schedules?limit=200', { signal }),
      ])
      return { projects, schedules }
    },
    () => PAUSE_MS,
  )
  return (
    <>
      <h1>Overview</h1>
      <Failure text={failure} />
      {value?.projects.items.length === 0 && <p>This token may know of no project.</p>}
      {value?.schedules.next && <p class="quiet">Only the first 200 schedules are looked at here.</p>}
      {value?.projects.items.map((project) => (
        <ProjectCard key={project.slug} client={client} project={project} schedules={value.schedules.items} />
      ))}
      <p class="actions">
        {after && (
          <button type="button" onClick={() => setAfter('')}>
            First projects
          </button>
        )}
        {value?.projects.next && (
          <button type="button" onClick={() => setAfter(value.projects.next ?? '')}>
            Next projects
          </button>
        )}
      </p>
    </>
  )
}

interface CardProps {
  readonly client: Client
  readonly project: Project
  readonly schedules: readonly Schedule[]
}

function ProjectCard({ client, project, schedules }: CardProps) {
  const [failure, setFailure] = useState<string>()
  const own = schedules.filter(({ kind, request }) => kind === 'export' && projectsOf(request).includes(project.slug))
  const proven = newest(own.map(({ lastProven }) => lastProven))
  const exportNow = async (): Promise<void> => {
    try {
      const json = { projects: [{ slug: project.slug, system: false }] }
      const { id } = await client.json<Job>('/export', { method: 'POST', json, prefer: 'respond-async' })
      location.hash = `/jobs/${id}`
    } catch (error) {
      setFailure(detailOfError(error))
    }
  }
  return (
    <section class="card" aria-label={project.slug}>
      <h2>{project.slug}</h2>
      <dl>
        <dt>Stages</dt>
        <dd>{project.stages.map(({ slug }) => slug).join(', ') || 'none'}</dd>
        <dt>Last archive of a schedule</dt>
        <dd>
          <Time at={newest(own.map(({ lastSuccess }) => lastSuccess))?.finishedAt} />
        </dd>
        <dt>Last proven archive</dt>
        <dd>
          <Time at={proven?.finishedAt} />
        </dd>
      </dl>
      {own.length === 0 && <p class="quiet">No schedule names this project.</p>}
      {own.length > 0 && <p class="quiet">Each mark is a run, the newest last: choose one to restore what it saved.</p>}
      {own.map((schedule) => (
        <div key={schedule.id}>
          {schedule.overdueSince && (
            <p class="failure">
              {schedule.name}: its last archive is too old, since <Time at={schedule.overdueSince} />.
            </p>
          )}
          <RunStrip client={client} schedule={schedule} />
        </div>
      ))}
      <p class="actions">
        {proven?.jobId && (
          <a class="button" href={`#/restore/${proven.jobId}/${project.slug}`} aria-label={`Restore: ${project.slug}`}>
            Restore the last proven …
          </a>
        )}
        <button type="button" onClick={() => void exportNow()} aria-label={`Export now: ${project.slug}`}>
          Export now
        </button>
      </p>
      <Failure text={failure} />
    </section>
  )
}

/** The one of these runs that ended last. */
const newest = (runs: readonly (Run | null)[]): Run | undefined =>
  runs
    .flatMap((run) => (run?.finishedAt ? [run] : []))
    .toSorted((a, b) => Date.parse(a.finishedAt ?? '') - Date.parse(b.finishedAt ?? ''))
    .at(-1)
