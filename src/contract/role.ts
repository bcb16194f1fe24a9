import { z } from 'zod'
import type { ReadonlyDeep } from '../lib/readonly-deep.ts'
import { added } from './from-server.ts'

const flag = z.boolean()
const permission = flag.default(false)

export const roleSchema = z
  .object({
    name: z.string(),
    content: z.object({
      read: flag,
      write: flag,
      export: flag,
      import: flag,
      structure: added(
        flag.meta({
          description:
            "Whether it may run SQL of its own as the project's login: scripts, and archives that build a stage.",
        }),
        false,
      ),
    }),
    system: z.object({ export: flag, import: flag }),
  })
  .meta({ id: 'Role', description: 'What a token with this role may do in the project.' })

/** A role, by its name in the project. */
export type Role = ReadonlyDeep<z.output<typeof roleSchema>>

/** What a role allows. */
export type Permissions = Omit<Role, 'name'>

export const PERMISSIONS = [
  'content.read',
  'content.write',
  'content.export',
  'content.import',
  'content.structure',
  'system.export',
  'system.import',
] as const

/** One key of a role, as it is named in messages: section, then key. */
export type Permission = (typeof PERMISSIONS)[number]

/** What a role is to allow. */
export const newPermissions = z.strictObject({
  content: z
    .strictObject({
      read: permission,
      write: permission,
      export: permission,
      import: permission,
      structure: permission,
    })
    .prefault({}),
  system: z.strictObject({ export: permission, import: permission }).prefault({}),
})
