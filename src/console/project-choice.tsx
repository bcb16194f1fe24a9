import type { ComponentChildren } from 'preact'
import type { Me, Project } from './types.ts'

interface Seen {
  readonly me: Me
  readonly projects: readonly Project[]
}

/** The projects that a token may export, or import into. */
export const slugsOf = ({ me, projects }: Seen, permission: 'export' | 'import'): readonly string[] =>
  me.root
    ? projects.map(({ slug }) => slug)
    : me.memberships.filter(({ role }) => role.content[permission]).map(({ project }) => project)

interface ChoiceProps {
  readonly id: string
  readonly title: string
  readonly value: string
  readonly slugs: readonly string[]
  readonly onChange: (slug: string) => void
  /** What can be chosen besides. */
  readonly children?: ComponentChildren
}

export const ProjectChoice = ({ id, title, value, slugs, onChange, children }: ChoiceProps) => (
  <>
    <label for={id}>{title}</label>
    <select id={id} required value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      <option value="">choose a project</option>
      {children}
      {slugs.map((slug) => (
        <option key={slug} value={slug}>
          {slug}
        </option>
      ))}
    </select>
  </>
)
