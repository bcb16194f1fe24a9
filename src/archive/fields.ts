import { z } from 'zod'
import { SLUG_PATTERN } from '../config.ts'

/** PostgreSQL cuts longer identifiers short without a word, so two of them could become one. */
const MAX_IDENTIFIER_BYTES = 63

/** The name of something in PostgreSQL, unquoted. */
export const identifier = z
  .string()
  .min(1)
  .refine((name) => Buffer.byteLength(name) <= MAX_IDENTIFIER_BYTES, {
    error: `must have at most ${MAX_IDENTIFIER_BYTES} bytes`,
  })

export const slug = z
  .string()
  .regex(SLUG_PATTERN, { error: 'must be a slug: a lower-case letter, then letters, digits, "-" or "_"' })

/** SQL or a type's name as PostgreSQL prints it. */
export const sqlText = z.string().min(1)

/** A whole number as text, because a bigint does not fit into a JavaScript number. */
export const integerText = z.string().regex(/^-?\d+$/, { error: 'must be a whole number, written as a string' })

export const count = z.int().nonnegative()

/** The lower-case hexadecimal SHA-256 of lines, newlines included. */
export const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, { error: 'must be a SHA-256 in lower-case hexadecimal digits' })

/** ISO 8601 with a zone; PostgreSQL's microseconds are kept. */
export const timestamp = z.iso.datetime({ offset: true })

export const flag = z.boolean()

/** A field that is left out, rather than null, where it does not apply. */
export const optional = z.exactOptional

export const comment = optional(z.string())
