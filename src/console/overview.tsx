import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { Glossary } from './glossary.tsx'
import { Legend } from './legend.tsx'
import { type Night, NightStrip } from './night-strip.tsx'
import { Pager, usePages } from './pages.tsx'
import { SearchField } from './search-field.tsx'
import { shown } from './shown.ts'
import type { Job, Me, Page, ProjectOverview } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'
import { Since, Time, toCount, toSize } from './words.tsx'

const PAUSE_MS = 10_000

/** Each project with its stages, and how well it is backed up. */
export function Overview({ client }: { readonly client: Client }) {
  const [search, setSearch] = useState('')
  const pages = usePages(search)
  const { value, failure } = useLive(
    `overview ${search} ${pages.after}`,
    (signal) => readPage(client, search, pages.query, signal),
    () => PAUSE_MS,
    true,
  )
  const isFirstOfMany = pages.after === '' && (value?.next ?? null) !== null
  const overdue = useOverdue(client, search, isFirstOfMany)
  const { value: me } = useLive(
    'who looks at the overview',
    (signal) => client.json<Me>('/me', { signal }),
    () => undefined,
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
      {value && value.items.length > 0 && (
        <Legend of="nights">
          What each of the last thirty nights left, today at the end. Choose one that is proven or made to restore it.
        </Legend>
      )}
      <div class="projects">
        {overdueFirst(overdue, value?.items).map((project) => (
          <ProjectRow key={project.slug} client={client} project={project} isRoot={me?.root === true} />
        ))}
      </div>
      <Pager pages={pages} next={value?.next} what="projects" />
      <Glossary />
    </>
  )
}

function readPage(
  client: Client,
  search: string,
  asked: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Page<ProjectOverview>> {
  const query = new URLSearchParams({ limit: '25', ...asked, ...(search && { search }) })
  return client.json(`/overview?${query}`, { signal })
}

/** Those of any page that are overdue; none where they are not asked for. */
function useOverdue(client: Client, search: string, isAsked: boolean): readonly ProjectOverview[] {
  const { value } = useLive<readonly ProjectOverview[]>(
    `overdue ${search} ${isAsked}`,
    async (signal) => (isAsked ? (await readPage(client, search, { overdue: 'true' }, signal)).items : []),
    () => (isAsked ? PAUSE_MS : undefined),
    true,
  )
  return isAsked && value ? value : []
}

/** What is wrong is to be on the first screen, also of a phone: those that are overdue come first, of this page and of others. */
function overdueFirst(
  overdue: readonly ProjectOverview[],
  page: readonly ProjectOverview[] = [],
): readonly ProjectOverview[] {
  const first = new Set(overdue.map(({ slug }) => slug))
  return [...overdue, ...page.filter(({ slug }) => !first.has(slug))].toSorted(
    (one, other) => Number(one.overdueSince === null) - Number(other.overdueSince === null),
  )
}

/** So many schedules of a project are named: those that run come first. */
const NAMED = 3

interface RowProps {
  readonly client: Client
  readonly project: ProjectOverview
  /** Whether all schedules are seen. */
  readonly isRoot: boolean
}

function ProjectRow({ client, project, isRoot }: RowProps) {
  const { slug, stages, lastArchive, lastProven, overdueSince } = project
  const { isBusy, failure, act } = useAction()
  const exportNow = async (): Promise<void> => {
    const json = { projects: [{ slug, system: false }] }
    const { id } = await client.json<Job>('/export', { method: 'POST', json, prefer: 'respond-async' })
    location.hash = `/jobs/${id}`
  }
  const schedules = project.schedules.toSorted((a, b) => Number(b.enabled) - Number(a.enabled))
  const best = lastProven ?? lastArchive
  const isUnprotected = isRoot && !overdueSince && !lastArchive && !schedules.some(({ enabled }) => enabled)
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
          Overdue for <Since at={overdueSince} />:{' '}
          {lastArchive
            ? 'a schedule has left no archive in time, or none that is proven.'
            : 'no archive is kept, so nothing can be restored.'}
        </p>
      )}
      {isUnprotected && (
        <p class="warning">
          Not backed up: no archive is kept, and no schedule makes one. <a href="#/schedules/new">New schedule</a>
        </p>
      )}
      <div class="protection">
        <NightStrip project={slug} nights={soFar(project)} />
        <p>
          <LastArchives last={lastArchive} proven={lastProven} />
          {schedules.length === 0 && (
            <span class="item quiet">in no schedule{!isRoot && ' that this token may see'}</span>
          )}
          {schedules.slice(0, NAMED).map(({ id, name, enabled, nextRunAt }) => (
            <span class="item" key={id}>
              {enabled && 'next run of '}
              <a href={`#/schedules/${id}`}>{shown(name)}</a>{' '}
              <span class="quiet">{enabled ? <Time at={nextRunAt} /> : 'is paused'}</span>
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

/** With today as yet to come where a schedule is still to run, by the browser's clock: it would look like a night that was missed. */
function soFar({ nights, schedules }: ProjectOverview): readonly Night[] {
  const today = nights.at(-1)
  if (today?.outcome !== 'none') return nights
  const end = Date.parse(`${today.date}T24:00`)
  const isAhead = schedules.some(({ enabled, nextRunAt }) => enabled && nextRunAt && Date.parse(nextRunAt) < end)
  return isAhead ? [...nights.slice(0, -1), { ...today, outcome: 'ahead' }] : nights
}

interface ArchivesProps {
  readonly last: ProjectOverview['lastArchive']
  readonly proven: ProjectOverview['lastProven']
}

/** How old the newest archive is, and the newest that is proven. */
function LastArchives({ last, proven }: ArchivesProps) {
  if (!last) return <span class="item">No archive</span>
  return (
    <>
      <span class="item">
        {proven ? (
          <>
            Last proven <Time at={proven.finishedAt} />
          </>
        ) : (
          'Never proven'
        )}
      </span>
      {last.jobId !== proven?.jobId && (
        <span class="item">
          last archive <Time at={last.finishedAt} />
        </span>
      )}
    </>
  )
}
