import { useState } from 'preact/hooks'
import { type Client, detailOfError, RequestError } from './client.ts'
import { Failure } from './failure.tsx'
import type { Job, JobResult, Kept } from './types.ts'
import { useLive } from './use-live.ts'
import { inFull, Time } from './words.tsx'

interface UndoProps {
  readonly client: Client
  /** An import or a transfer that has succeeded. */
  readonly job: Job
}

/** For each stage that an import has replaced, the way back. */
export const UndoImport = ({ client, job }: UndoProps) => (
  <>
    {((job.result as JobResult).projects ?? []).flatMap(({ targetSlug, stages }) =>
      stages
        .filter(({ undoable }) => undoable)
        .map(({ slug }) => (
          <UndoStage key={`${targetSlug} ${slug}`} client={client} job={job} project={targetSlug} stage={slug} />
        )),
    )}
  </>
)

const PAUSE_MS = 30_000

interface StageProps extends UndoProps {
  readonly project: string
  readonly stage: string
}

/** The commit of an import begins when its job has ended, by the database, and takes a moment. */
const COMMIT_MS = 5_000

/** Whether what is kept was replaced by something later than a job, which an undo would then take back. */
const isLater = ({ finishedAt }: Job, { replacedAt }: NonNullable<Kept['kept']>): boolean =>
  finishedAt !== null && Date.parse(replacedAt) > Date.parse(finishedAt) + COMMIT_MS

function UndoStage({ client, job, project, stage }: StageProps) {
  const path = `/projects/${project}/stages/${stage}/undo`
  const [undone, setUndone] = useState(0)
  const [failed, setFailed] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const { value, failure } = useLive(
    `undo ${path} ${undone}`,
    (signal) => client.json<Kept>(path, { signal }),
    () => PAUSE_MS,
  )
  const undo = async (force: boolean): Promise<void> => {
    setBusy(true)
    setFailed(undefined)
    await client.json(`${path}${force ? '?force=true' : ''}`, { method: 'POST' }).then(
      () => setUndone(undone + 1),
      (error: unknown) => setFailed(error),
    )
    setBusy(false)
  }
  const kept = value?.kept
  const takesLater = undone === 0 && kept ? isLater(job, kept) : false
  const isWritten = failed instanceof RequestError && failed.code === 'written-since'
  return (
    <section class="card" aria-label={`Undo of ${project}, ${stage}`}>
      <h2>
        <a href={`#/data/${project}/${stage}`}>
          {project}, {stage}
        </a>
      </h2>
      <p role="status">
        {undone === 0
          ? 'What it had before is kept'
          : `It is back as it was${undone > 1 ? ' once more' : ''}; what it had until now is kept`}
        {kept ? (
          <>
            {' '}
            until {inFull(kept.until)}, <Time at={kept.until} />.
          </>
        ) : (
          '.'
        )}
      </p>
      {takesLater && kept && (
        <p class="failure">
          The stage was replaced again after this job, <Time at={kept.replacedAt} />: an undo takes that back.
        </p>
      )}
      {kept === null && <p>There is nothing left to undo.</p>}
      <p class="actions">
        {kept && (
          <button type="button" disabled={isBusy} onClick={() => void undo(false)}>
            {undone > 0 ? 'Undo that, too' : takesLater ? 'Undo the later one' : 'Undo'}
          </button>
        )}
        {isWritten && (
          <button type="button" disabled={isBusy} onClick={() => void undo(true)}>
            Undo, and give up what was written since
          </button>
        )}
      </p>
      <Failure text={failed === undefined ? failure : detailOfError(failed)} />
    </section>
  )
}
