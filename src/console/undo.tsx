import { useState } from 'preact/hooks'
import { type Client, detailOfError, RequestError } from './client.ts'
import { Failure } from './failure.tsx'
import type { JobResult, Kept } from './types.ts'
import { useLive } from './use-live.ts'
import { Time } from './words.tsx'

interface UndoProps {
  readonly client: Client
  readonly result: JobResult
}

/** For each stage that an import has replaced, the way back. */
export const UndoImport = ({ client, result }: UndoProps) => (
  <>
    {(result.projects ?? []).flatMap(({ targetSlug, stages }) =>
      stages
        .filter(({ undoable }) => undoable)
        .map(({ slug }) => (
          <UndoStage key={`${targetSlug} ${slug}`} client={client} project={targetSlug} stage={slug} />
        )),
    )}
  </>
)

const PAUSE_MS = 30_000

interface StageProps {
  readonly client: Client
  readonly project: string
  readonly stage: string
}

function UndoStage({ client, project, stage }: StageProps) {
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
  const isWritten = failed instanceof RequestError && failed.code === 'written-since'
  return (
    <section class="card" aria-label={`Undo of ${project}, ${stage}`}>
      <h2>
        {project}, {stage}
      </h2>
      <p role="status">
        {undone === 0
          ? 'What it had before is kept'
          : `It is back as it was${undone > 1 ? ' once more' : ''}; what it had until now is kept`}
        {value?.kept ? (
          <>
            {' '}
            for an undo: it goes <Time at={value.kept.until} />.
          </>
        ) : (
          '.'
        )}
      </p>
      {value?.kept === null && <p>There is nothing left to undo.</p>}
      <p class="actions">
        {value?.kept && (
          <button type="button" disabled={isBusy} onClick={() => void undo(false)}>
            {undone === 0 ? 'Undo' : 'Undo that, too'}
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
