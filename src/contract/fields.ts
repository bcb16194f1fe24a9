import { z } from 'zod'
import { SLUG_PATTERN } from '../lib/slug.ts'

const SLUG_EXPECTED = { error: 'must be a lower-case letter, then letters, digits, "-" or "_", 63 at most' }

/** Whatever PostgreSQL takes for a UUID, which is more than RFC 9562 has variants for. */
export const id = z.guid({ error: 'must be an id, like 0f8b8a52-2f1f-4d0e-9c5b-0f6d7c1c2a11' })

export const slug = z
  .string()
  .regex(SLUG_PATTERN, SLUG_EXPECTED)
  .meta({ id: 'Slug', description: 'The name of a project or of a stage.', examples: ['demo'] })

export const roleName = z.string().regex(SLUG_PATTERN, SLUG_EXPECTED)

/** A moment, ISO 8601, in UTC. */
export const timeText = z.iso.datetime({ offset: true })

export const count = z.int().nonnegative()
