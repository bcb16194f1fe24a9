import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { ProjectChoice, slugsOf } from './project-choice.tsx'
import { readProjects } from './read-projects.ts'
import { isTyped, SubmitButton } from './submit-button.tsx'
import { TransferPreview } from './transfer-preview.tsx'
import type { Job, Me } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'

/** Copies one project over another one of this server. */
export function Transfer({ client }: { readonly client: Client }) {
  const [source, setSource] = useState('')
  const [target, setTarget] = useState('')
  const [typed, setTyped] = useState('')
  const { isBusy, failure, act } = useAction()
  const { value, failure: unread } = useLive(
    'transfer',
    async (signal) => {
      const [me, projects] = await Promise.all([client.json<Me>('/me', { signal }), readProjects(client, signal)])
      return { me, projects }
    },
    () => undefined,
  )
  const may = (permission: 'export' | 'import'): readonly string[] => (value ? slugsOf(value, permission) : [])
  const start = async (): Promise<void> => {
    const json = { source: { project: source }, target: { project: target } }
    const { id } = await client.json<Job>('/transfer', { method: 'POST', json, prefer: 'respond-async' })
    location.hash = `/jobs/${id}`
  }
  const firstOf = (): string | undefined => {
    if (source === '' || target === '') return 'Choose both projects first.'
    return isTyped(typed, target) ? undefined : 'Type the project’s name first.'
  }
  const [from, to] = [source, target].map((chosen) => value?.projects.find(({ slug }) => slug === chosen))
  return (
    <>
      <h1>Transfer</h1>
      <p>A transfer replaces all rows of a project by a copy of those of another.</p>
      <Failure text={unread} />
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault()
          act(start)
        }}
      >
        <ProjectChoice id="from" title="From" value={source} slugs={may('export')} onChange={setSource} />
        <ProjectChoice
          id="to"
          title="To"
          value={target}
          slugs={may('import').filter((slug) => slug !== source)}
          onChange={setTarget}
        />
        {source !== '' && target !== '' && (
          <>
            <p>
              Each stage of {source} replaces all rows of the stage of {target} that has the same name; other stages of{' '}
              {target} stay as they are. Readers see the old rows until all new ones are there, unless a stage has to be
              loaded where it is; the job says what can be undone.
            </p>
            <p class="quiet">Only numbers of rows are compared: rows may differ where the numbers are the same.</p>
            {from && to && <TransferPreview key={`${source} ${target}`} client={client} source={from} target={to} />}
            <label for="typed">
              Type <strong>{target}</strong> to replace what it has
            </label>
            <input
              id="typed"
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </>
        )}
        <SubmitButton word="Transfer" isBusy={isBusy} first={firstOf()} />
        <Failure text={failure} />
      </form>
      <p class="quiet">
        Between servers, the command line does it: <code>wharf data:transfer</code>.
      </p>
    </>
  )
}
