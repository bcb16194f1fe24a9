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

const KEYS: Readonly<Record<Permission, (permissions: Permissions) => boolean>> = {
  'content.read': ({ content }) => content.read,
  'content.write': ({ content }) => content.write,
  'content.export': ({ content }) => content.export,
  'content.import': ({ content }) => content.import,
  'content.structure': ({ content }) => content.structure,
  'system.export': ({ system }) => system.export,
  'system.import': ({ system }) => system.import,
}

/** Whether `permissions` has the key. */
export const allows = (permissions: Permissions, permission: Permission): boolean => KEYS[permission](permissions)

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
