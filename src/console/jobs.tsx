import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { Progress } from './progress.tsx'
import type { Job, Page } from './types.ts'
import { useLive } from './use-live.ts'
import { projectsOf, Time } from './words.tsx'

/** A look begins this long after the last has ended, so that nothing shown is older than a second. */
const PAUSE_MS = 800

/** The jobs that the token may see, the newest first. */
export function Jobs({ client }: { readonly client: Client }) {
  const [after, setAfter] = useState('')
  const page = after && `&after=${encodeURIComponent(after)}`
  const { value, failure } = useLive(
    `jobs ${after}`,
    (signal) => client.json<Page<Job>>(`/jobs?limit=50${page}`, { signal }),
    () => PAUSE_MS,
  )
  return (
    <>
      <h1>Jobs</h1>
      <Failure text={failure} />
      {value?.items.length === 0 && <p>There is no job yet.</p>}
      <ul class="jobs">
        {value?.items.map((job) => (
          <li key={job.id}>
            <a href={`#/jobs/${job.id}`}>
              {job.kind} of {projectsOf(job.request).join(' to ') || 'an archive'}
            </a>
            <span class={`status ${job.status}`}>{job.status}</span>
            <Time at={job.createdAt} />
            {job.status === 'running' && <Progress job={job} />}
          </li>
        ))}
      </ul>
      <p class="actions">
        {after && (
          <button type="button" onClick={() => setAfter('')}>
            Newest jobs
          </button>
        )}
        {value?.next && (
          <button type="button" onClick={() => setAfter(value.next ?? '')}>
            Older jobs
          </button>
        )}
      </p>
    </>
  )
}
