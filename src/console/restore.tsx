import { useState } from 'preact/hooks'
import { SLUG_PATTERN } from '../lib/slug.ts'
import { Archives, earlierThan, readArchives, restorePath } from './archives.tsx'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { Glossary } from './glossary.tsx'
import { slugsOf } from './project-choice.tsx'
import { readProjects } from './read-projects.ts'
import { RestorePreview } from './restore-preview.tsx'
import type { Job, Me, Project } from './types.ts'
import { useLive } from './use-live.ts'
import { useTitle } from './use-title.ts'
import { FullTime } from './words.tsx'

/** Stands for a project that is yet to be made; no slug is written so. */
const NEW = ' new'

/** A project out of the archive that a job has made: where it goes, what that would change, and then the import. */
export function Restore({
  client,
  jobId,
  project,
}: {
  readonly client: Client
  readonly jobId: string
  readonly project: string
}) {
  const { value, failure } = useLive(
    `restore ${jobId} ${project}`,
    async (signal) => {
      const [job, me, projects, archives] = await Promise.all([
        client.json<Job>(`/jobs/${jobId}`, { signal }),
        client.json<Me>('/me', { signal }),
        readProjects(client, signal),
        readArchives(client, project, signal),
      ])
      return { job, me, projects, archives }
    },
    () => undefined,
  )
  const earlier = value && earlierThan(value.archives, value.job.createdAt)
  useTitle(`Restore ${project}`)
  return (
    <>
      <h1>Restore {project}</h1>
      <Failure text={failure} />
      {value && (
        <>
          <p>
            From the archive of <FullTime at={value.job.createdAt} />.{' '}
            {value.job.provenAt ? (
              <>
                <span class="status succeeded">Proven</span>: it was restored once, and found identical.
              </>
            ) : (
              'Not proven: nobody has tried yet whether it can be restored.'
            )}
          </p>
          <Archives project={project} archives={value.archives} chosen={jobId} />
          <Glossary />
          <ChooseTarget
            {...value}
            client={client}
            archive={{
              path: `/jobs/${jobId}/import`,
              project,
              earlier: earlier && restorePath(earlier.id, project),
            }}
          />
        </>
      )}
    </>
  )
}

interface ChooseTargetProps {
  readonly client: Client
  readonly archive: ArchiveProject
  readonly me: Me
  readonly projects: readonly Project[]
}

/** One project of an archive that the server has. */
export interface ArchiveProject {
  /** Where it is imported from. */
  readonly path: string
  /** As it stands in the archive; undefined where it has one alone. */
  readonly project: string | undefined
  /** Where the archive before it is looked at, of one that the server keeps; undefined where there is none. */
  readonly earlier?: string | undefined
}

/** Asks where a project of an archive goes. */
export function ChooseTarget({ client, archive, me, projects }: ChooseTargetProps) {
  const targets = slugsOf({ me, projects }, 'import')
  const own = targets.find((slug) => slug === archive.project)
  const [chosen, setChosen] = useState(own ?? '')
  const [name, setName] = useState('')
  const isNew = chosen === NEW
  const target = isNew ? name.trim() : chosen
  if (targets.length === 0 && !me.root) return <Failure text="This token may import into no project." />
  return (
    <>
      <div class="fields">
        <label for="target">Restore into the project</label>
        <select id="target" value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
          {own === undefined && <option value="">choose a project</option>}
          {targets.map((slug) => (
            <option key={slug} value={slug}>
              {slug}
            </option>
          ))}
          {me.root && <option value={NEW}>a new project …</option>}
        </select>
        {isNew && (
          <>
            <label for="new-target">Its name</label>
            <input
              id="new-target"
              value={name}
              placeholder={archive.project === undefined ? 'shop-restored' : `${archive.project}-restored`}
              autocapitalize="none"
              spellcheck={false}
              aria-describedby="new-target-form"
              onInput={(event) => setName(event.currentTarget.value)}
            />
            <p class="quiet" id="new-target-form">
              Small letters, digits, - and _, of which a letter comes first.
            </p>
          </>
        )}
      </div>
      {SLUG_PATTERN.test(target) && (
        <RestorePreview
          key={`${archive.path} ${chosen}`}
          client={client}
          archive={archive}
          target={{ slug: target, isNew, like: own }}
        />
      )}
    </>
  )
}
