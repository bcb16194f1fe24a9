import { useEffect, useRef, useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { readProjects } from './read-projects.ts'
import { ChooseTarget } from './restore.tsx'
import { sendUpload } from './send-upload.ts'
import { shown } from './shown.ts'
import type { Me } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'
import { toSize } from './words.tsx'

/** An archive from this machine: it is sent, looked at, and imported. */
export function Upload({ client }: { readonly client: Client }) {
  const [file, setFile] = useState<File>()
  const [project, setProject] = useState('')
  const [path, setPath] = useState<string>()
  const { value, failure } = useLive(
    'upload',
    async (signal) => {
      const [me, projects] = await Promise.all([client.json<Me>('/me', { signal }), readProjects(client, signal)])
      return { me, projects }
    },
    () => undefined,
  )
  const startOver = (): void => {
    setFile(undefined)
    setProject('')
    setPath(undefined)
  }
  return (
    <>
      <h1>Import a file</h1>
      <Failure text={failure} />
      {path === undefined ? (
        <SendFile client={client} file={file} setFile={setFile} onSent={setPath} />
      ) : (
        value && (
          <>
            <p class="actions">
              <span>{file && shown(file.name)} has arrived. It is looked at before anything is changed.</span>
              <button type="button" onClick={startOver}>
                Take another file
              </button>
            </p>
            <div class="fields">
              <label for="one">Which project of it (only where it has several)</label>
              <input id="one" value={project} onInput={(event) => setProject(event.currentTarget.value)} />
            </div>
            <ChooseTarget
              {...value}
              client={client}
              archive={{ path: `${path}/import`, project: project.trim() || undefined }}
            />
          </>
        )
      )}
    </>
  )
}

/** Takes a file that is dropped anywhere on the page, and says while one is held over it. */
function useDroppedFile(take: (file: File) => void, setOver: (isOver: boolean) => void): void {
  const latest = useRef(take)
  latest.current = take
  useEffect(() => {
    const left = new AbortController()
    const on = <Name extends 'dragover' | 'dragleave' | 'drop'>(
      name: Name,
      handle: (event: DocumentEventMap[Name]) => void,
    ): void => document.addEventListener(name, handle, { signal: left.signal })
    on('dragover', (event) => {
      event.preventDefault()
      setOver(true)
    })
    on('dragleave', ({ relatedTarget }) => {
      // From one element of the page to another, it has not left.
      if (relatedTarget === null) setOver(false)
    })
    on('drop', (event) => {
      event.preventDefault()
      setOver(false)
      const dropped = event.dataTransfer?.files[0]
      if (dropped) latest.current(dropped)
    })
    return () => left.abort()
  }, [setOver])
}

interface SendFileProps {
  readonly client: Client
  readonly file: File | undefined
  readonly setFile: (file: File) => void
  readonly onSent: (path: string) => void
}

function SendFile({ client, file, setFile, onSent }: SendFileProps) {
  const { isBusy, failure, act } = useAction()
  const [bytes, setBytes] = useState(0)
  const [isLost, setLost] = useState(false)
  const [leaving] = useState(() => new AbortController())
  useEffect(() => () => leaving.abort(), [leaving])
  const send = (chosen: File): void => {
    setFile(chosen)
    act(async () => {
      const progress = { onBytes: setBytes, onLost: setLost, signal: leaving.signal }
      onSent(await sendUpload(client, chosen, progress))
    })
  }
  const [isOver, setOver] = useState(false)
  // Anywhere on the page: a browser opens a file that is dropped beside the field, and the page is gone.
  useDroppedFile((dropped) => {
    if (!isBusy) send(dropped)
  }, setOver)
  return (
    <>
      <p class={isOver ? 'drop over' : 'drop'}>
        <label for="file">Drop an archive here, or choose one</label>
        <input
          id="file"
          type="file"
          disabled={isBusy}
          onChange={(event) => {
            const chosen = event.currentTarget.files?.[0]
            if (chosen) send(chosen)
          }}
        />
      </p>
      {isBusy && file && (
        <div class="progress">
          <progress max={file.size} value={bytes} aria-label="Sent" />
          <span>
            {toSize(bytes)} of {toSize(file.size)}
          </span>
          <span role="status">{isLost && ' The connection was lost; it is tried again.'}</span>
        </div>
      )}
      <Failure text={failure} />
      <p class="quiet">
        Nothing is changed before you have seen what it would change. An interrupted upload goes on where it was: by
        itself once the connection is back, or after this page was loaded again, once you choose the same file.
      </p>
    </>
  )
}
