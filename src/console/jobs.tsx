import { useLayoutEffect, useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { followJobs } from './follow-jobs.ts'
import { Pager, usePages } from './pages.tsx'
import { type JobFilter, jobsPath } from './paths.ts'
import { Progress } from './progress.tsx'
import { SearchField } from './search-field.tsx'
import type { Job, JobResult, Page } from './types.ts'
import { useLive } from './use-live.ts'
import { browserZone, inShort, subjectOf, Time, toSize } from './words.tsx'

/** Where they cannot be followed, a look begins this long after the last has ended, so that nothing shown is older than a second. */
const PAUSE_MS = 700

const STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const
const KINDS = ['export', 'import', 'transfer'] as const

const SLUG = /^[a-z][a-z0-9_-]{0,62}$/

/** What an address asks for: addresses are typed, too. */
function filterOf(asked: string): Required<JobFilter> {
  const query = new URLSearchParams(asked)
  const oneOf = (name: string, known: readonly string[]): string => known.find((each) => each === query.get(name)) ?? ''
  return { project: query.get('project') ?? '', status: oneOf('status', STATUSES), kind: oneOf('kind', KINDS) }
}

/**
 * The jobs that the token may see, the newest first.
 *
 * @param asked what they are filtered by at first, as it stands in the address.
 */
export function Jobs({ client, asked }: { readonly client: Client; readonly asked: string }) {
  const [{ project, status, kind }, setFilter] = useState(() => filterOf(asked))
  const set = (changed: JobFilter): void => setFilter((before) => ({ ...before, ...changed }))
  const address = jobsPath({ project, status, kind })
  // So that who comes back to the list, or loads the page again, finds it as it was. At once: once it is painted, the browser may
  // be on its way to another view, and this would bring it back.
  useLayoutEffect(() => history.replaceState(null, '', address), [address])
  const pages = usePages(address)
  // A name that no project can have is none's, and would be refused.
  const isName = project === '' || SLUG.test(project)
  const filter = Object.entries({ project, status, kind }).filter(([, text]) => text !== '')
  const query = new URLSearchParams([['limit', '50'], ...filter, ...Object.entries(pages.query)]).toString()
  const { value, failure } = useLive(
    `jobs ${query}`,
    async (signal): Promise<Page<Job>> =>
      isName ? client.json(`/jobs?${query}`, { signal }) : { items: [], next: null },
    () => (isName ? PAUSE_MS : undefined),
    true,
    (signal) => followJobs(client, query, signal),
  )
  const isFiltered = project !== '' || status !== '' || kind !== ''
  return (
    <>
      <div class="title">
        <h1>Jobs</h1>
        <select aria-label="Kind" value={kind} onChange={(event) => set({ kind: event.currentTarget.value })}>
          <option value="">any kind</option>
          {KINDS.map((each) => (
            <option key={each} value={each}>
              {each}s
            </option>
          ))}
        </select>
        <select aria-label="Status" value={status} onChange={(event) => set({ status: event.currentTarget.value })}>
          <option value="">any status</option>
          {STATUSES.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
        <SearchField label="Of project" value={project} onChange={(text) => set({ project: text })} />
      </div>
      <Failure text={failure} />
      {value?.items.length === 0 && <p>{isFiltered ? 'No job is like that.' : 'There is no job yet.'}</p>}
      {value && value.items.length > 0 && (
        <p class="quiet">Times are in {browserZone()}; sizes are those of archives.</p>
      )}
      <ul class="jobs">
        {value?.items.map((job) => (
          <li key={job.id}>
            <a href={`#/jobs/${job.id}`}>{subjectOf(job)}</a>
            <span class={`status ${job.status}`}>
              {job.status}
              {isUndone(job) && ', undone'}
            </span>
            <span class="number">{bytesOf(job)}</span>
            <span class="when">
              {inShort(job.createdAt)}, <Time at={job.createdAt} />
            </span>
            {job.status === 'running' && <Progress job={job} />}
            {job.error && <span class="quiet detail">{job.error.detail}</span>}
          </li>
        ))}
      </ul>
      <Pager pages={pages} next={value?.next} what="jobs" first="Newest jobs" />
    </>
  )
}

/** Whether what it imported is undone, in a stage at least. */
const isUndone = ({ result }: Job): boolean =>
  ((result as JobResult | null)?.projects ?? []).some(({ stages }) =>
    stages?.some(({ undoneAt }) => undoneAt !== undefined),
  )

const bytesOf = ({ status, progress }: Job): string =>
  status === 'succeeded' && progress ? toSize(progress.bytes) : ''
