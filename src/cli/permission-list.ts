import { PERMISSIONS, type Permission, type Permissions, type Role } from '../contract/role.ts'
import { wrongUse } from '../errors.ts'
import { allows, toPermissions } from '../projects/permissions.ts'

const SECTIONS = ['content', 'system'] as const

export const ROLE_HEADINGS = ['role', ...SECTIONS] as const

const inSection = (section: string): readonly Permission[] =>
  PERMISSIONS.filter((permission) => permission.startsWith(`${section}.`))

/** `read` of `content.read` */
const keyOf = (permission: Permission): string => permission.slice(permission.indexOf('.') + 1)

/** @returns a role's cells below `ROLE_HEADINGS`. */
export const permissionCells = (role: Role): string[] => [
  role.name,
  ...SECTIONS.map((section) => {
    const allowed = inSection(section).filter((permission) => allows(role, permission))
    return allowed.map(keyOf).join(',') || '-'
  }),
]

/**
 * Reads lists like `read,export`; what they don't name is not permitted.
 *
 * @throws {AppError} WRONG_USE for a word that is no permission.
 */
export function parsePermissions(lists: Readonly<Record<(typeof SECTIONS)[number], string>>): Permissions {
  const given = SECTIONS.flatMap((section) => parseList(section, lists[section]))
  return toPermissions((permission) => given.includes(permission))
}

function parseList(section: string, list: string): readonly Permission[] {
  const known = inSection(section)
  const words = list.split(',').map((word) => word.trim())
  return words.flatMap((word) => {
    const permission = known.find((each) => keyOf(each) === word)
    if (permission === undefined && word !== '') {
      throw wrongUse(`--${section} knows no permission "${word}": expected some of ${known.map(keyOf).join(',')}`)
    }
    return permission ?? []
  })
}
