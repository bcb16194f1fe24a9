import { useEffect, useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { saveArchive } from './save-archive.ts'
import type { Job } from './types.ts'
import { useAction } from './use-action.ts'
import { toSize } from './words.tsx'

interface DownloadProps {
  readonly client: Client
  readonly job: Job
  /** Whether it is what most people come for. */
  readonly isMain: boolean
}

/** The archive of a job, for this machine. */
export function Download({ client, job, isMain }: DownloadProps) {
  const { isBusy, failure, act } = useAction()
  const [seen, setSeen] = useState({ bytes: 0, total: 0 })
  const [isLost, setLost] = useState(false)
  const [leaving] = useState(() => new AbortController())
  useEffect(() => () => leaving.abort(), [leaving])
  const onBytes = (bytes: number, total: number): void => setSeen({ bytes, total })
  const save = (): Promise<void> => saveArchive(client, job, { onBytes, onLost: setLost, signal: leaving.signal })
  return (
    <div class="download">
      <button type="button" class={isMain ? 'main' : undefined} disabled={isBusy} onClick={() => act(save)}>
        Download
      </button>
      {isBusy && (
        <span class="progress">
          <progress max={Math.max(1, seen.total)} value={seen.bytes} aria-label="Downloaded" />
          {toSize(seen.bytes)} of {toSize(seen.total)}
        </span>
      )}
      <span role="status">{isLost && 'The connection was lost; it goes on where it was.'}</span>
      <Failure text={failure} />
    </div>
  )
}
