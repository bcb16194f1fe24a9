import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { readProjects } from './read-projects.ts'
import { shown } from './shown.ts'
import { type Column, Table } from './table.tsx'
import type { Attachment } from './types.ts'
import { useLive } from './use-live.ts'
import { Time } from './words.tsx'

/** The databases that are not Wharf's. */
export function AttachedDatabases({ client }: { readonly client: Client }) {
  const [chosen, setChosen] = useState<string>()
  const { value: slugs, failure } = useLive(
    'attached',
    async (signal) => (await readProjects(client, signal)).filter(({ attached }) => attached).map(({ slug }) => slug),
    () => undefined,
  )
  return (
    <>
      <h2>Attached databases</h2>
      <Failure text={failure} />
      {slugs?.length === 0 && (
        <p class="quiet">
          No database is attached yet: <code>wharf project:attach</code> attaches one as a project.
        </p>
      )}
      {slugs && slugs.length > 0 && (
        <p class="quiet">Choose a project to see where its database is, and what may be done there.</p>
      )}
      <p class="actions">
        {slugs?.map((slug) => (
          <button type="button" key={slug} aria-expanded={slug === chosen} onClick={() => setChosen(slug)}>
            {slug}
          </button>
        ))}
      </p>
      {chosen !== undefined && <AttachmentFacts key={chosen} client={client} project={chosen} />}
    </>
  )
}

function AttachmentFacts({ client, project }: { readonly client: Client; readonly project: string }) {
  const { value, failure } = useLive(
    `attachment ${project}`,
    (signal) => client.json<Attachment>(`/projects/${project}/attachment`, { signal }),
    () => undefined,
  )
  return (
    <section class="card" aria-label={`Database of ${project}`}>
      <h3>{project}</h3>
      <Failure text={failure} />
      {!value && failure === undefined && <p role="status">Looking at the database …</p>}
      {value && (
        <>
          <dl>
            <dt>Address</dt>
            <dd>{value.name}</dd>
            <dt>Login</dt>
            <dd>
              {value.login}
              {value.isSuperuser && ', which may do everything there'}
            </dd>
            <dt>PostgreSQL</dt>
            <dd>{value.version}</dd>
            <dt>Address given</dt>
            <dd>
              <Time at={value.changedAt} />
            </dd>
          </dl>
          <Table
            label={`Stages of ${project}`}
            columns={STAGE_COLUMNS}
            rows={value.stages}
            keyOf={({ slug }) => slug}
          />
        </>
      )}
    </section>
  )
}

const STAGE_COLUMNS: readonly Column<Attachment['stages'][number]>[] = [
  { title: 'Stage', draw: ({ slug }) => slug },
  { title: 'Schema', draw: ({ schema }) => schema && shown(schema) },
  { title: 'Export', draw: ({ mayExport }) => (mayExport ? 'yes' : 'no') },
  { title: 'Import', draw: ({ mayImport }) => mayImport },
  {
    title: 'Why not more, and the SQL that would allow it',
    draw: ({ reasons, logProblems, missing }) => (
      <>
        {[...reasons, ...logProblems].map((reason) => (
          <p key={reason}>{shown(reason)}</p>
        ))}
        {missing.map((sql) => (
          <p key={sql}>
            <code>{sql}</code>
          </p>
        ))}
      </>
    ),
  },
]
