import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import type { Job, JobResult, Kept } from './types.ts'
import { UndoQuestion } from './undo-question.tsx'
import { useLive } from './use-live.ts'
import { FullTime, inFull, kindOf, Time } from './words.tsx'

interface UndoProps {
  readonly client: Client
  /** An import or a transfer that has succeeded. */
  readonly job: Job
}

/** For each stage that an import has replaced, what is there now, and the way back. */
export const UndoImport = ({ client, job }: UndoProps) => (
  <>
    {((job.result as JobResult).projects ?? []).flatMap(({ targetSlug, stages }) =>
      stages
        .filter(({ undoable }) => undoable)
        .map(({ slug, undoneAt }) => (
          <UndoStage
            key={`${targetSlug} ${slug}`}
            client={client}
            job={job}
            project={targetSlug}
            stage={slug}
            undoneAt={undoneAt}
          />
        )),
    )}
  </>
)

const PAUSE_MS = 30_000

interface StageProps extends UndoProps {
  readonly project: string
  readonly stage: string
  /** When what the job brought was undone, as its result has it. */
  readonly undoneAt: string | undefined
}

function UndoStage({ client, job, project, stage, undoneAt }: StageProps) {
  const path = `/projects/${project}/stages/${stage}/undo`
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
    <section class="card" aria-label={`Undo of ${project}, ${stage}`}>
      <h2>
        <a href={`#/data/${project}/${stage}`}>
          {project}, {stage}
        </a>
      </h2>
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
      <Failure text={failure} />
    </section>
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
        This {word} was undone on <FullTime at={replacedAt} />. What was there before it is live again.
      </p>
      <KeptUntil until={until}>What the {word} had brought</KeptUntil>
    </>
  ) : (
    <>
      <p>What this {word} brought is live.</p>
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
      {undone ? 'undone' : 'put live'} on <FullTime at={replacedAt} />. What this {word} replaced is no longer kept.
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
