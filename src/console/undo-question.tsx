import { useEffect, useRef, useState } from 'preact/hooks'
import { type Client, detailOfError, RequestError } from './client.ts'
import { asCompared, ComparedTables } from './compared-tables.tsx'
import { Failure } from './failure.tsx'
import type { Kept } from './types.ts'
import { useLive } from './use-live.ts'
import { FullTime } from './words.tsx'

interface QuestionProps {
  readonly client: Client
  /** Of the undo. */
  readonly path: string
  readonly kept: NonNullable<Kept['kept']>
  /** What the job is called. */
  readonly word: string
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Says what an undo would change, table by table, and asks whether it shall. */
export function UndoQuestion({ client, path, kept, word, onClose, onDone }: QuestionProps) {
  const [failed, setFailed] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const { value, failure } = useLive(
    `rows ${path} ${kept.replacedAt}`,
    (signal) => client.json<Kept>(`${path}?rows=true`, { signal }),
    () => undefined,
  )
  const undo = async (force: boolean): Promise<void> => {
    setBusy(true)
    setFailed(undefined)
    await client.json(`${path}${force ? '?force=true' : ''}`, { method: 'POST' }).then(onDone, (error: unknown) => {
      setFailed(error)
      setBusy(false)
    })
  }
  const tables = value?.kept?.tables
  const isWritten = failed instanceof RequestError && failed.code === 'written-since'
  const verb = kept.undone ? `Put back what the ${word} brought` : `Undo the ${word}`
  return (
    <>
      <h3 ref={heading} tabIndex={-1}>
        {verb}?
      </h3>
      <p>
        What is there now, with all that was changed since <FullTime at={kept.replacedAt} />, is taken away, and kept in
        turn: this can be undone, too.
      </p>
      {!tables && !failure && <p role="status">Counting rows …</p>}
      {tables && (
        <ComparedTables
          label="What would change"
          tables={asCompared(tables)}
          titles={['Rows now', 'Rows afterwards']}
        />
      )}
      {tables && <p class="quiet">The numbers of rows are compared, not what is in them.</p>}
      <p class="actions">
        {isWritten ? (
          <button type="button" class="main" disabled={isBusy} onClick={() => void undo(true)}>
            {verb}, with what was written since
          </button>
        ) : (
          <button type="button" class="main" disabled={isBusy} onClick={() => void undo(false)}>
            {verb}
          </button>
        )}
        <button type="button" disabled={isBusy} onClick={onClose}>
          Leave it as it is
        </button>
      </p>
      {isBusy && <p role="status">It is being put back …</p>}
      <Failure text={failed === undefined ? failure : detailOfError(failed)} />
    </>
  )
}
