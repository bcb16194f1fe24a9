import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { Glossary } from './glossary.tsx'
import { NightStrip } from './night-strip.tsx'
import { Pager, usePages } from './pages.tsx'
import { SearchField } from './search-field.tsx'
import type { Job, Page, ProjectOverview } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'
import { shown, Time, toCount, toSize } from './words.tsx'

const PAUSE_MS = 10_000

/** Each project with its stages, and how well it is backed up. */
export function Overview({ client }: { readonly client: Client }) {
  const [search, setSearch] = useState('')
  const pages = usePages(search)
  const { value, failure } = useLive<Page<ProjectOverview>>(
    `overview ${search} ${pages.after}`,
    (signal) => {
      const query = new URLSearchParams({ limit: '25', ...pages.query, ...(search && { search }) })
      return client.json(`/overview?${query}`, { signal })
    },
    () => PAUSE_MS,
    true,
  )
  return (
    <>
      <div class="title">
        <h1>Overview</h1>
        <SearchField label="Search projects" value={search} onChange={setSearch} />
      </div>
      <Failure text={failure} />
      {value?.items.length === 0 && (
        <p>{search ? 'No project has this in its name.' : 'This token may know of no project.'}</p>
      )}
      {value && value.items.length > 0 && <Legend />}
      <div class="projects">
        {value?.items.map((project) => (
          <ProjectRow key={project.slug} client={client} project={project} />
        ))}
      </div>
      <Pager pages={pages} next={value?.next} what="projects" />
      <Glossary />
    </>
  )
}

/** So many schedules of a project are named: those that run come first. */
const NAMED = 3

/** Each mark with its word. */
const MARKS = [
  ['proven', 'proven'],
  ['made', 'made'],
  ['gone', 'no longer kept'],
  ['running', 'running'],
  ['failed', 'failed'],
  ['skipped', 'skipped'],
  ['none', 'none'],
] as const

const Legend = () => (
  <p class="legend">
    <span>What each of the last thirty nights left, today last. Choose one to restore it.</span>
    {MARKS.map(([mark, word]) => (
      <span key={mark} aria-hidden="true">
        <span class={`mark ${mark}`} /> {word}
      </span>
    ))}
  </p>
)

interface RowProps {
  readonly client: Client
  readonly project: ProjectOverview
}

function ProjectRow({ client, project }: RowProps) {
  const { slug, stages, lastArchive, lastProven, overdueSince, nights } = project
  const { isBusy, failure, act } = useAction()
  const exportNow = async (): Promise<void> => {
    const json = { projects: [{ slug, system: false }] }
    const { id } = await client.json<Job>('/export', { method: 'POST', json, prefer: 'respond-async' })
    location.hash = `/jobs/${id}`
  }
  const schedules = project.schedules.toSorted((a, b) => Number(b.enabled) - Number(a.enabled))
  const best = lastProven ?? lastArchive
  return (
    <section class={overdueSince ? 'project overdue' : 'project'} aria-label={slug}>
      <div>
        <h2>{slug}</h2>
        <ul class="plain">
          {stages.map((stage) => (
            <li key={stage.slug}>
              <span class="quiet">stage </span>
              <a href={`#/data/${slug}/${stage.slug}`}>{stage.slug}</a>
              <span class="quiet">
                {stage.sizeBytes !== null && `, ${toSize(stage.sizeBytes)}`}
                {stage.changedAt && (
                  <>
                    {', changed '}
                    <Time at={stage.changedAt} />
                  </>
                )}
              </span>
            </li>
          ))}
        </ul>
      </div>
      {overdueSince && (
        <p class="alarm">
          Overdue since <Time at={overdueSince} />: the last archive is older than its schedule allows.
        </p>
      )}
      <div class="protection">
        <NightStrip project={slug} nights={nights} />
        <p>
          <span class="item">
            Last proven <Time at={lastProven?.finishedAt} />
          </span>
          {lastArchive?.jobId !== lastProven?.jobId && (
            <span class="item">
              last archive <Time at={lastArchive?.finishedAt} />
            </span>
          )}
          {schedules.length === 0 && <span class="item quiet">in no schedule that this token may see</span>}
          {schedules.slice(0, NAMED).map(({ id, name, enabled, nextRunAt }) => (
            <span class="item" key={id}>
              <a href={`#/schedules/${id}`}>{shown(name)}</a>{' '}
              <span class="quiet">{enabled ? <Time at={nextRunAt} /> : 'paused'}</span>
            </span>
          ))}
          {schedules.length > NAMED && (
            <span class="item">
              <a href="#/schedules">and {toCount(schedules.length - NAMED)} more</a>
            </span>
          )}
        </p>
      </div>
      <p class="actions">
        {best && (
          <a class="button" href={`#/restore/${best.jobId}/${slug}`} aria-label={`Restore: ${slug}`}>
            Restore …
          </a>
        )}
        <button type="button" disabled={isBusy} onClick={() => act(exportNow)} aria-label={`Export now: ${slug}`}>
          Export now
        </button>
      </p>
      <Failure text={failure} />
    </section>
  )
}
