import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { readProjects } from './read-projects.ts'
import { toWords } from './role-words.ts'
import { Secret } from './secret.tsx'
import { shown } from './shown.ts'
import { SubmitButton } from './submit-button.tsx'
import type { CreatedToken, Page, Role } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'

interface NewTokenProps {
  readonly client: Client
  readonly onMade: () => void
}

/** Makes a token with one role in one project, and shows it once. */
export function NewToken({ client, onMade }: NewTokenProps) {
  const [name, setName] = useState('')
  const [project, setProject] = useState('')
  const [role, setRole] = useState('')
  const [days, setDays] = useState('')
  const [made, setMade] = useState<CreatedToken>()
  const { isBusy, failure, act } = useAction()
  const { value: projects } = useLive(
    'projects of a token',
    (signal) => readProjects(client, signal),
    () => undefined,
  )
  const { value: roles } = useLive<Page<Role> | undefined>(
    `roles ${project}`,
    async (signal) => (project ? client.json<Page<Role>>(`/projects/${project}/roles`, { signal }) : undefined),
    () => undefined,
  )
  const make = async (): Promise<void> => {
    const expiresAt = days === '' ? undefined : new Date(Date.now() + Number(days) * 86_400_000).toISOString()
    const json = { name, memberships: [{ project, role }], ...(expiresAt && { expiresAt }) }
    setMade(await client.json<CreatedToken>('/tokens', { method: 'POST', json }))
    onMade()
  }
  if (made) {
    return (
      <Secret
        label="The new token"
        name={shown(made.name)}
        says="This is the token."
        secret={made.token}
        onClose={() => setMade(undefined)}
      />
    )
  }
  return (
    <form
      class="fields"
      aria-label="New token"
      onSubmit={(event) => {
        event.preventDefault()
        act(make)
      }}
    >
      <h2>New token</h2>
      <label for="token-name">Who or what it is for</label>
      <input id="token-name" required value={name} onInput={(event) => setName(event.currentTarget.value)} />
      <label for="token-project">Project</label>
      <select
        id="token-project"
        required
        value={project}
        onChange={(event) => {
          setProject(event.currentTarget.value)
          setRole('')
        }}
      >
        <option value="">choose a project</option>
        {projects?.map(({ slug }) => (
          <option key={slug} value={slug}>
            {slug}
          </option>
        ))}
      </select>
      <label for="token-role">Role</label>
      <select id="token-role" required value={role} onChange={(event) => setRole(event.currentTarget.value)}>
        <option value="">choose a role</option>
        {roles?.items
          .filter(({ name }) => name !== 'public')
          .map((each) => (
            <option key={each.name} value={each.name}>
              {each.name}: {toWords(each)}
            </option>
          ))}
      </select>
      <label for="token-days">Ends after this many days (empty: never)</label>
      <input
        id="token-days"
        type="number"
        min="1"
        max="36500"
        value={days}
        onInput={(event) => setDays(event.currentTarget.value)}
      />
      <SubmitButton
        word="Make the token"
        isBusy={isBusy}
        first={project === '' || role === '' ? 'Choose a project and a role first.' : undefined}
      />
      <Failure text={failure} />
    </form>
  )
}
