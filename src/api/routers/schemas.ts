import { z } from 'zod'
import { SLUG_PATTERN } from '../../lib/slug.ts'

/** Data ids are whatever PostgreSQL takes for a UUID, which is more than RFC 9562 has variants for. */
export const id = z.guid({ error: 'must be an id, like 0f8b8a52-2f1f-4d0e-9c5b-0f6d7c1c2a11' })

export const slug = z
  .string()
  .regex(SLUG_PATTERN, { error: 'must be a lower-case letter, then letters, digits, "-" or "_", 63 at most' })
  .meta({ id: 'Slug', description: 'The name of a project or of a stage.', examples: ['demo'] })

/** The same as it is described: a moment, ISO 8601, in UTC. */
export const timeText = z.iso.datetime({ offset: true })

const flag = z.boolean()

const permissionsSchema = {
  content: z.object({
    read: flag,
    write: flag,
    export: flag,
    import: flag,
    structure: flag.meta({
      description:
        "Whether it may run SQL of its own as the project's login: scripts, and archives that build a stage.",
    }),
  }),
  system: z.object({ export: flag, import: flag }),
}

export const roleSchema = z
  .object({ name: z.string(), ...permissionsSchema })
  .meta({ id: 'Role', description: 'What a token with this role may do in the project.' })

export const roleName = z
  .string()
  .regex(SLUG_PATTERN, { error: 'must be a lower-case letter, then letters, digits, "-" or "_", 63 at most' })

export const stageSchema = z.object({ slug, createdAt: timeText }).meta({ id: 'Stage' })

export const projectSchema = z
  .object({ slug, createdAt: timeText, stages: z.array(stageSchema) })
  .meta({ id: 'Project' })

const membershipFields = { project: slug, role: roleName }

export const membershipInput = z.strictObject(membershipFields)

const tokenFields = {
  id,
  name: z.string(),
  memberships: z.array(z.object(membershipFields)),
  createdAt: timeText,
  expiresAt: timeText.nullable(),
  revokedAt: timeText.nullable(),
}

export const tokenSchema = z.object(tokenFields).meta({ id: 'Token', description: 'A token, without itself.' })

export const newTokenSchema = z
  .object({ ...tokenFields, token: z.string() })
  .meta({ id: 'NewToken', description: 'A token as it is shown once, when it has been made.' })
