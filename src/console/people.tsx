import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { NewToken } from './new-token.tsx'
import { readProjects } from './read-projects.ts'
import { toWords } from './role-words.ts'
import { shown } from './shown.ts'
import { SubmitButton } from './submit-button.tsx'
import { SureButton } from './sure-button.tsx'
import { type Column, Table } from './table.tsx'
import type { Me, Page, Role, Token } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'
import { Time } from './words.tsx'

const PAUSE_MS = 10_000

/** Who may do what: of this token, and, for the root token, of all. */
export function People({ client }: { readonly client: Client }) {
  const { value: me, failure } = useLive(
    'me',
    (signal) => client.json<Me>('/me', { signal }),
    () => undefined,
  )
  return (
    <>
      <h1>People and rights</h1>
      <Failure text={failure} />
      {me && (
        <section class="card" aria-label="This token">
          <h2>This token</h2>
          {me.root ? (
            <p>It is the root token, which may do everything.</p>
          ) : (
            <>
              <p>{me.name !== null && shown(me.name)}</p>
              <dl>
                {me.memberships.map(({ project, role }) => (
                  <RoleFacts key={project} title={project} role={role} />
                ))}
              </dl>
            </>
          )}
        </section>
      )}
      {me && <RolesOfProjects client={client} />}
      {me?.root && <Tokens client={client} />}
    </>
  )
}

/** Leads to what the roles of each project may do. */
function RolesOfProjects({ client }: { readonly client: Client }) {
  const [project, setProject] = useState('')
  const { value: projects } = useLive(
    'projects with roles',
    (signal) => readProjects(client, signal),
    () => undefined,
  )
  return (
    <form
      class="fields"
      onSubmit={(event) => {
        event.preventDefault()
        location.hash = `/roles/${project}`
      }}
    >
      <label for="roles-of">Roles of a project</label>
      <select id="roles-of" required value={project} onChange={(event) => setProject(event.currentTarget.value)}>
        <option value="">choose a project</option>
        {projects?.map(({ slug }) => (
          <option key={slug} value={slug}>
            {slug}
          </option>
        ))}
      </select>
      <SubmitButton
        word="Show the roles"
        isBusy={false}
        first={project === '' ? 'Choose a project first.' : undefined}
      />
    </form>
  )
}

const RoleFacts = ({ title, role }: { readonly title: string; readonly role: Role }) => (
  <>
    <dt>{title}</dt>
    <dd>
      {role.name}: {toWords(role)}
    </dd>
  </>
)

function Tokens({ client }: { readonly client: Client }) {
  const [after, setAfter] = useState('')
  const [changes, setChanges] = useState(0)
  const page = after && `&after=${encodeURIComponent(after)}`
  const { value, failure } = useLive(
    `tokens ${after} ${changes}`,
    (signal) => client.json<Page<Token>>(`/tokens?limit=50${page}`, { signal }),
    () => PAUSE_MS,
  )
  const reload = (): void => setChanges((count) => count + 1)
  return (
    <>
      <NewToken client={client} onMade={reload} />
      <h2>Tokens</h2>
      <Failure text={failure} />
      {value?.items.length === 0 && <p>There is none but the root token.</p>}
      {value && value.items.length > 0 && (
        <Table
          label="Tokens"
          columns={[
            ...TOKEN_COLUMNS,
            {
              title: 'Actions',
              isSpoken: true,
              draw: (token) => !token.revokedAt && <RevokeToken client={client} token={token} onRevoked={reload} />,
            },
          ]}
          rows={value.items}
          keyOf={({ id }) => id}
          isQuiet={({ revokedAt }) => revokedAt !== null}
        />
      )}
      <p class="actions">
        {after && (
          <button type="button" onClick={() => setAfter('')}>
            First tokens
          </button>
        )}
        {value?.next && (
          <button type="button" onClick={() => setAfter(value.next ?? '')}>
            Next tokens
          </button>
        )}
      </p>
    </>
  )
}

const TOKEN_COLUMNS: readonly Column<Token>[] = [
  { title: 'Name', draw: ({ name }) => shown(name) },
  {
    title: 'Roles',
    draw: ({ memberships }) => (
      <ul class="plain">
        {memberships.map(({ project, role }) => (
          <li key={project}>
            {role} of {project}
          </li>
        ))}
      </ul>
    ),
  },
  { title: 'Made', draw: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: 'Ends',
    draw: ({ revokedAt, expiresAt }) =>
      revokedAt ? (
        <>
          revoked <Time at={revokedAt} />
        </>
      ) : (
        <Time at={expiresAt} />
      ),
  },
]

interface RevokeProps {
  readonly client: Client
  readonly token: Token
  readonly onRevoked: () => void
}

function RevokeToken({ client, token, onRevoked }: RevokeProps) {
  const { isBusy, failure, act } = useAction()
  const revoke = async (): Promise<void> => {
    await client.run(`/tokens/${token.id}`, { method: 'DELETE' })
    onRevoked()
  }
  return (
    <>
      <SureButton word="Revoke" name={token.name} isBusy={isBusy} onSure={() => act(revoke)} />
      <Failure text={failure} />
    </>
  )
}
