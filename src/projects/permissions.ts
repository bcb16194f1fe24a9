/** What a role allows. Missing means no. */
export interface Permissions {
  readonly content: {
    readonly read: boolean
    readonly write: boolean
    readonly export: boolean
    readonly import: boolean
  }
  readonly system: {
    readonly export: boolean
    readonly import: boolean
  }
}

export interface Role extends Permissions {
  readonly name: string
}

/** One key of a role, as it is named in messages: section, then key. */
export type Permission =
  | 'content.read'
  | 'content.write'
  | 'content.export'
  | 'content.import'
  | 'system.export'
  | 'system.import'

const content = { read: false, write: false, export: false, import: false }
const system = { export: false, import: false }
const everything: Permissions = {
  content: { read: true, write: true, export: true, import: true },
  system: { export: true, import: true },
}

/** The roles of every new project. */
export const DEFAULT_ROLES: readonly Role[] = [
  { name: 'admin', ...everything },
  { name: 'content_admin', ...everything },
  { name: 'editor', content: { ...content, read: true, write: true }, system },
  { name: 'viewer', content: { ...content, read: true }, system },
]

/** Whether `permissions` has the key. */
export function allows(permissions: Permissions, permission: Permission): boolean {
  switch (permission) {
    case 'content.read':
      return permissions.content.read
    case 'content.write':
      return permissions.content.write
    case 'content.export':
      return permissions.content.export
    case 'content.import':
      return permissions.content.import
    case 'system.export':
      return permissions.system.export
    case 'system.import':
      return permissions.system.import
  }
}
