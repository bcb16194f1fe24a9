import type { Permission, Permissions, Role } from '../contract/role.ts'

const content = { read: false, write: false, export: false, import: false, structure: false }
const system = { export: false, import: false }
const everything: Permissions = {
  content: { read: true, write: true, export: true, import: true, structure: true },
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
    case 'content.structure':
      return permissions.content.structure
    case 'system.export':
      return permissions.system.export
    case 'system.import':
      return permissions.system.import
  }
}

/** The permissions for which `has` says yes. */
export const toPermissions = (has: (permission: Permission) => boolean): Permissions => ({
  content: {
    read: has('content.read'),
    write: has('content.write'),
    export: has('content.export'),
    import: has('content.import'),
    structure: has('content.structure'),
  },
  system: { export: has('system.export'), import: has('system.import') },
})
