import type { Client } from './client.ts'
import type { Job, Page } from './types.ts'
import { inShort, projectsOf, Time, toRows, toSize } from './words.tsx'

/** How many archives of a project can be chosen from. */
const MAX_ARCHIVES = 100

/** The archives of a project that the token may see and that are whole, the newest first. */
export async function readArchives(client: Client, project: string, signal: AbortSignal): Promise<readonly Job[]> {
  const query = new URLSearchParams({ project, kind: 'export', status: 'succeeded', limit: String(MAX_ARCHIVES) })
  const { items } = await client.json<Page<Job>>(`/jobs?${query}`, { signal })
  return items.filter((job) => isWhole(job) && projectsOf(job.request).includes(project))
}

/** Whether a job has left an archive that can be restored. */
export const isWhole = ({ links, archiveDamagedAt }: Job): boolean => links.file !== undefined && !archiveDamagedAt

interface ArchivesProps {
  readonly project: string
  /** The newest first. */
  readonly archives: readonly Job[]
  /** The job whose archive is looked at. */
  readonly chosen: string
}

export const restorePath = (jobId: string, project: string): string => `#/restore/${jobId}/${project}`

/** The archive that was made before another one; undefined where none is there. */
export function earlierThan(archives: readonly Job[], createdAt: string): Job | undefined {
  return archives.find((job) => Date.parse(job.createdAt) < Date.parse(createdAt))
}

/** What else can be restored, by when it was made. */
export function Archives({ project, archives, chosen }: ArchivesProps) {
  if (!archives.some(({ id }) => id !== chosen)) return <p class="quiet">There is no other archive of {project}.</p>
  return (
    <details class="archives">
      <summary>Choose another archive of {project}</summary>
      <ul class="jobs">
        {archives.map((job) => (
          <li key={job.id}>
            <a href={restorePath(job.id, project)} aria-current={job.id === chosen ? 'true' : undefined}>
              {inShort(job.createdAt)}
            </a>
            <Time at={job.createdAt} />
            <span class={job.provenAt ? 'status succeeded' : 'quiet'}>{job.provenAt ? 'proven' : 'not proven'}</span>
            <span class="number">{sizeOf(job)}</span>
            {job.id === chosen && <span class="quiet">this one</span>}
          </li>
        ))}
      </ul>
    </details>
  )
}

/** `4,951 rows, 166.5 kB` */
export const sizeOf = ({ status, progress }: Job): string =>
  status === 'succeeded' && progress ? `${toRows(progress.rows)}, ${toSize(progress.bytes)}` : ''
