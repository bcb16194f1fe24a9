import type { Permissions, Role } from '../contract/role.ts'
import { wrongUse } from '../errors.ts'

const CONTENT_KEYS = ['read', 'write', 'export', 'import', 'structure'] as const
const SYSTEM_KEYS = ['export', 'import'] as const

export const ROLE_HEADINGS = ['role', 'content', 'system'] as const

/** @returns a role's cells below `ROLE_HEADINGS`. */
export const permissionCells = ({ name, content, system }: Role): string[] => [
  name,
  CONTENT_KEYS.filter((key) => content[key]).join(',') || '-',
  SYSTEM_KEYS.filter((key) => system[key]).join(',') || '-',
]

/**
 * Reads lists like `read,export`; what they don't name is not permitted.
 *
 * @throws {AppError} WRONG_USE for a word that is no permission.
 */
export function parsePermissions(lists: { readonly content: string; readonly system: string }): Permissions {
  const content = parseList('--content', lists.content, CONTENT_KEYS)
  const system = parseList('--system', lists.system, SYSTEM_KEYS)
  return {
    content: {
      read: content.has('read'),
      write: content.has('write'),
      export: content.has('export'),
      import: content.has('import'),
      structure: content.has('structure'),
    },
    system: { export: system.has('export'), import: system.has('import') },
  }
}

function parseList(option: string, list: string, keys: readonly string[]): Set<string> {
  const words = list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  const unknown = words.find((word) => !keys.includes(word))
  if (unknown === undefined) return new Set(words)
  throw wrongUse(`${option} knows no permission "${unknown}": expected some of ${keys.join(',')}`)
}
