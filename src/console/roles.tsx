import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { SureButton } from './sure-button.tsx'
import { Cell, TableFrame } from './table.tsx'
import type { Page, Role } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'

/** Each permission: where it stands in a role, and what it allows, in words. */
const PERMISSIONS = [
  ['content', 'read', 'read rows'],
  ['content', 'write', 'write rows'],
  ['content', 'export', 'export rows'],
  ['content', 'import', 'replace rows by imports'],
  ['content', 'structure', 'change the structure'],
  ['system', 'export', 'export roles and event logs'],
  ['system', 'import', 'replace roles and event logs'],
] as const

type Permission = (typeof PERMISSIONS)[number]

const ROLE = { title: 'Role' }
const ACTIONS = { title: 'Actions', isSpoken: true }
const titleOf = ([, , title]: Permission) => ({ title })

const has = (role: Role, [section, key]: Permission): boolean =>
  (role[section] as Readonly<Record<string, boolean>>)[key] === true

const change = (role: Role, [section, key]: Permission, isGiven: boolean): Role => ({
  ...role,
  [section]: { ...role[section], [key]: isGiven },
})

/** The roles of a project, and what each may do; the root token makes and changes them. */
export function Roles({ client, project }: { readonly client: Client; readonly project: string }) {
  const [changes, setChanges] = useState(0)
  const { value, failure } = useLive(
    `roles ${project} ${changes}`,
    (signal) => client.json<Page<Role>>(`/projects/${project}/roles`, { signal }),
    () => undefined,
    true,
  )
  const reload = (): void => setChanges((count) => count + 1)
  return (
    <>
      <h1>Roles of {project}</h1>
      <p>
        <a href="#/people">People and rights</a>
      </p>
      <Failure text={failure} />
      {value && (
        <TableFrame label="Roles" titles={[ROLE, ...PERMISSIONS.map(titleOf), ACTIONS]}>
          {value.items.map((role) => (
            <RoleRow key={JSON.stringify(role)} client={client} project={project} role={role} onChanged={reload} />
          ))}
        </TableFrame>
      )}
      <p class="quiet">
        Once it is saved, a change counts at once for all tokens with the role. What a role named “public” may do,
        everybody may, without a token.
      </p>
      <NewRole client={client} project={project} onMade={reload} />
    </>
  )
}

interface RoleRowProps {
  readonly client: Client
  readonly project: string
  readonly role: Role
  readonly onChanged: () => void
}

function RoleRow({ client, project, role, onChanged }: RoleRowProps) {
  const [changed, setChanged] = useState(role)
  const { isBusy, failure, act } = useAction()
  const path = `/projects/${project}/roles/${role.name}`
  const isChanged = PERMISSIONS.some((permission) => has(role, permission) !== has(changed, permission))
  const save = async (): Promise<void> => {
    const { content, system } = changed
    await client.json(path, { method: 'PUT', json: { content, system } })
    onChanged()
  }
  const remove = async (): Promise<void> => {
    await client.run(path, { method: 'DELETE' })
    onChanged()
  }
  return (
    <tr>
      <Cell title={ROLE} isHead>
        {role.name}
      </Cell>
      {PERMISSIONS.map((permission) => (
        <Cell key={permission[2]} title={titleOf(permission)}>
          <input
            type="checkbox"
            aria-label={`${role.name}: ${permission[2]}`}
            checked={has(changed, permission)}
            onChange={(event) => setChanged(change(changed, permission, event.currentTarget.checked))}
          />
        </Cell>
      ))}
      <Cell title={ACTIONS}>
        <span class="actions">
          <button
            type="button"
            disabled={isBusy || !isChanged}
            aria-label={`Save: ${role.name}`}
            onClick={() => act(save)}
          >
            Save
          </button>
          <SureButton word="Delete" name={role.name} isBusy={isBusy} onSure={() => act(remove)} />
        </span>
        <Failure text={failure} />
      </Cell>
    </tr>
  )
}

interface NewRoleProps {
  readonly client: Client
  readonly project: string
  readonly onMade: () => void
}

function NewRole({ client, project, onMade }: NewRoleProps) {
  const [name, setName] = useState('')
  const { isBusy, failure, act } = useAction()
  const make = async (): Promise<void> => {
    await client.json(`/projects/${project}/roles/${encodeURIComponent(name)}`, { method: 'PUT', json: {} })
    setName('')
    onMade()
  }
  return (
    <form
      class="fields"
      aria-label="New role"
      onSubmit={(event) => {
        event.preventDefault()
        act(make)
      }}
    >
      <h2>New role</h2>
      <label for="role-name">Name</label>
      <input
        id="role-name"
        required
        pattern="[a-z][a-z0-9_\-]*"
        maxLength={63}
        title="A lower-case letter, then letters, digits, - or _"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <p class="quiet">It may do nothing until you have ticked above what it may do, and saved that.</p>
      <button type="submit" class="main" disabled={isBusy}>
        Make the role
      </button>
      <Failure text={failure} />
    </form>
  )
}
