import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { ComparedTables, counted } from './compared-tables.tsx'
import { Failure } from './failure.tsx'
import type { Job, JobResult, Kept } from './types.ts'
import { UndoQuestion } from './undo-question.tsx'
import { useLive } from './use-live.ts'
import { FullTime, inFull, kindOf, Time, toCounted, toRows } from './words.tsx'

type Stage = NonNullable<JobResult['projects']>[number]['stages'][number]

interface ImportProps {
  readonly client: Client
  /** An import or a transfer that has succeeded. */
  readonly job: Job
}

/** For each stage that an import has filled or replaced, what is there now, and the way back. */
export const ImportedStages = ({ client, job }: ImportProps) => (
  <>
    {((job.result as JobResult).projects ?? []).flatMap(({ targetSlug, stages }) =>
      stages.map((stage) => (
        <ImportedStage
          key={`${targetSlug} ${stage.slug}`}
          client={client}
          job={job}
          project={targetSlug}
          stage={stage}
        />
      )),
    )}
  </>
)

interface StageProps extends ImportProps {
  readonly project: string
  readonly stage: Stage
}

function ImportedStage({ client, job, project, stage }: StageProps) {
  const { slug, tables, rows, undoable } = stage
  return (
    <section class="card" aria-label={`Stage ${slug} of ${project}`}>
      <h2>
        Stage {slug} of {project}
      </h2>
      <p>
        It got {toCounted(tables, 'table')} with {toRows(rows)}.{' '}
        <a href={`#/data/${project}/${slug}`}>What it has now</a>
      </p>
      {undoable ? (
        <UndoStage client={client} job={job} project={project} stage={stage} />
      ) : (
        <p>Nothing is kept of what was there before, so there is nothing to undo.</p>
      )}
    </section>
  )
}

const PAUSE_MS = 30_000

function UndoStage({ client, job, project, stage: { slug, undoneAt } }: StageProps) {
  const path = `/projects/${project}/stages/${slug}/undo`
  const [changes, setChanges] = useState(0)
  const [isAsked, setAsked] = useState(false)
  const said = useRef<HTMLDivElement>(null)
  const { value, failure } = useLive(
    `undo ${path} ${changes}`,
    (signal) => client.json<Kept>(path, { signal }),
    () => PAUSE_MS,
    true,
  )
  // The button that was pressed is gone: the keyboard and screen readers go on with what is said instead.
  useEffect(() => {
    if (changes > 0) said.current?.focus({ preventScroll: true })
  }, [changes])
  const kept = value?.kept
  const isOwn = kept?.jobId === job.id
  const word = kindOf(job)
  const close = (): void => setAsked(false)
  const done = (): void => {
    setAsked(false)
    setChanges(changes + 1)
  }
  return (
    <>
      <div role="status" ref={said} tabIndex={-1}>
        {kept && isOwn && <OwnState kept={kept} word={word} />}
        {kept && !isOwn && <LaterState kept={kept} word={word} undoneAt={undoneAt} />}
        {kept === null && <GoneState word={word} undoneAt={undoneAt} />}
      </div>
      {kept && isOwn && !isAsked && (
        <p class="actions">
          <button type="button" onClick={() => setAsked(true)}>
            {kept.undone ? `Put back what the ${word} brought …` : 'Undo …'}
          </button>
        </p>
      )}
      {kept && isOwn && isAsked && (
        <UndoQuestion client={client} path={path} kept={kept} word={word} onClose={close} onDone={done} />
      )}
      {kept && isOwn && !kept.undone && !isAsked && (
        <RowsBefore key={kept.replacedAt} client={client} path={path} word={word} />
      )}
      <Failure text={failure} />
    </>
  )
}

interface RowsBeforeProps {
  readonly client: Client
  /** Of the undo. */
  readonly path: string
  readonly word: string
}

/** How many rows each table had before an import, and has now: they are counted where somebody wants to see that. */
function RowsBefore({ client, path, word }: RowsBeforeProps) {
  const [isOpen, setOpen] = useState(false)
  const { value, failure } = useLive<Kept | undefined>(
    `rows before ${path} ${isOpen}`,
    async (signal) => (isOpen ? client.json<Kept>(`${path}?rows=true`, { signal }) : undefined),
    () => undefined,
  )
  const tables = value?.kept?.tables
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Rows of each table, before the {word} and now</summary>
      {isOpen && !value && !failure && <p role="status">Counting rows …</p>}
      {tables && (
        <ComparedTables
          label={`Rows before the ${word} and now`}
          tables={tables.map(({ name, rowsNow, rowsAfter }) => ({
            name,
            before: counted(rowsAfter),
            after: counted(rowsNow),
          }))}
          titles={['Before', 'Rows now']}
        />
      )}
      <Failure text={failure} />
    </details>
  )
}

interface StateProps {
  readonly kept: NonNullable<Kept['kept']>
  /** What the job is called. */
  readonly word: string
  readonly undoneAt?: string | undefined
}

/** What is there where nothing was imported after the job. */
const OwnState = ({ kept: { undone, replacedAt, until }, word }: StateProps) =>
  undone ? (
    <>
      <p>
        This {word} was undone on <FullTime at={replacedAt} />. What was there before it is back.
      </p>
      <KeptUntil until={until}>What the {word} had brought</KeptUntil>
    </>
  ) : (
    <>
      <p>What this {word} brought is in use.</p>
      <KeptUntil until={until}>What was there before it</KeptUntil>
    </>
  )

const KeptUntil = ({ until, children }: { readonly until: string; readonly children: ComponentChildren }) => (
  <p>
    {children} is kept until {inFull(until)}, <Time at={until} />.
  </p>
)

/** What is there where something else was imported since: only what the last import replaced is kept. */
const LaterState = ({ kept: { jobId, undone, replacedAt }, word, undoneAt }: StateProps) => (
  <>
    {undoneAt !== undefined && <Undone word={word} at={undoneAt} />}
    <p>
      Another import came after it:{' '}
      {jobId === null ? 'no job of this server' : <a href={`#/jobs/${jobId}`}>this job</a>}, which was{' '}
      {undone ? 'undone' : 'put in place'} on <FullTime at={replacedAt} />. What this {word} replaced is no longer kept.
    </p>
  </>
)

const GoneState = ({ word, undoneAt }: Pick<StateProps, 'word' | 'undoneAt'>) => (
  <>
    {undoneAt !== undefined && <Undone word={word} at={undoneAt} />}
    <p>
      {undoneAt === undefined ? `What this ${word} replaced` : `What this ${word} had brought`} is no longer kept, so
      there is nothing left to undo.
    </p>
  </>
)

const Undone = ({ word, at }: { readonly word: string; readonly at: string }) => (
  <p>
    This {word} was undone on <FullTime at={at} />.
  </p>
)
