import { z } from 'zod'
import type { ReadonlyDeep } from '../lib/readonly-deep.ts'
import { id, roleName, slug, timeText } from './fields.ts'
import { plainText } from './plain-text.ts'
import { roleSchema } from './role.ts'

const membershipFields = { project: slug, role: roleName }

export const newToken = z.strictObject({
  name: plainText(200).min(1),
  memberships: z.array(z.strictObject(membershipFields)).min(1).max(200),
  expiresAt: timeText.optional(),
})

const tokenFields = {
  id,
  name: z.string(),
  memberships: z.array(z.object(membershipFields)),
  createdAt: timeText,
  expiresAt: timeText.nullable(),
  revokedAt: timeText.nullable(),
}

export const tokenSchema = z.object(tokenFields).meta({ id: 'Token', description: 'A token, without its secret.' })

/** A token, without itself. */
export type Token = ReadonlyDeep<z.output<typeof tokenSchema>>

/** A role in a project. */
export type Membership = Token['memberships'][number]

export const createdTokenSchema = z
  .object({ ...tokenFields, token: z.string() })
  .meta({ id: 'NewToken', description: 'A token with its secret, which is shown once, when it is created.' })

/** Who a token is, and what it may do. */
export const callerSchema = z
  .object({
    root: z.boolean().meta({ description: 'Whether it is the root token, which may do everything.' }),
    id: id.nullable(),
    name: z.string().nullable(),
    memberships: z.array(z.object({ project: slug, role: roleSchema })),
  })
  .meta({ id: 'Me' })
