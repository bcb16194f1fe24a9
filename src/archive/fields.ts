import { z } from 'zod'
import { EXTENSIONS_SCHEMA } from '../contract/extensions-schema.ts'
import { SLUG_PATTERN } from '../lib/slug.ts'

/** PostgreSQL truncates longer identifiers silently, so two of them could become one. */
const MAX_IDENTIFIER_BYTES = 63

/**
 * What a text of a line is: `SQL`, which PostgreSQL is given as such; or a `value`, of a closed form or quoted.
 */
export const texts = z.registry<{ readonly holds: 'SQL' | 'value' }>()

/** A text that is quoted wherever it goes. */
export const quotedText = z.string().register(texts, { holds: 'value' })

/** The name of something in PostgreSQL, unquoted. */
export const identifier = z
  .string()
  .min(1)
  .refine((name) => Buffer.byteLength(name) <= MAX_IDENTIFIER_BYTES, {
    error: `must have at most ${MAX_IDENTIFIER_BYTES} bytes`,
  })
  .register(texts, { holds: 'value' })

export const slug = z
  .string()
  .regex(SLUG_PATTERN, { error: 'must be a slug: a lower-case letter, then letters, digits, "-" or "_"' })
  .register(texts, { holds: 'value' })

/** A role's name, as `PUT /projects/{slug}/roles/{role}` takes it. */
export const roleName = z
  .string()
  .regex(SLUG_PATTERN, {
    error: 'must be the name of a role: a lower-case letter, then letters, digits, "-" or "_", 63 at most',
  })
  .register(texts, { holds: 'value' })

/** SQL as PostgreSQL prints it; `sql/line-definitions.ts` says of which form. */
export const sqlText = z.string().min(1).register(texts, { holds: 'SQL' })

/** The schema is written where something else of the name would be found before. */
const FINDABLE_NAME = new RegExp(`^(?:(?:pg_catalog|${EXTENSIONS_SCHEMA})\\.)?(?:[a-z_][a-z0-9_]*|"(?:[^"]|"")+")$`)

/** The name of a collation, an operator class or a function: of the stage, an extension or PostgreSQL. Quoted where it has to be. */
export const findableName = z
  .string()
  .regex(FINDABLE_NAME, {
    error: 'must be the name of something of the stage, an extension or PostgreSQL, in quotes where it needs them',
  })
  .register(texts, { holds: 'value' })

/** A whole number as text, because a bigint does not fit into a JavaScript number. */
export const integerText = z
  .string()
  .regex(/^-?\d+$/, { error: 'must be a whole number, written as a string' })
  .register(texts, { holds: 'value' })

export const count = z.int().nonnegative()

/** The lower-case hexadecimal SHA-256 of lines, newlines included. */
export const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, { error: 'must be a SHA-256 in lower-case hexadecimal digits' })

/** ISO 8601 with a zone, as PostgreSQL takes it too; its microseconds are kept. */
export const timestamp = z.iso
  .datetime({ offset: true })
  .refine((text) => !text.startsWith('0000') && !/[+-](1[6-9]|2\d):\d\d$/.test(text), {
    error: 'must be a time after the year 0, in a zone less than 16 hours from UTC',
  })

export const flag = z.boolean()

/** A field that is left out, rather than null, where it does not apply. */
export const optional = z.exactOptional

export const comment = optional(quotedText)

/** At most this many faults of one line are reported. */
export const MAX_PROBLEMS = 20

/** What the items of a list are. */
export const lists = z.registry<{ readonly item: unknown }>()

/**
 * A list that is looked through until that many of its items are wrong: reporting a million takes seconds, and more
 * memory than the list.
 */
export const list = <Item extends z.ZodType>(item: Item) =>
  z
    .custom<z.input<Item>[]>(Array.isArray, { error: 'must be a list' })
    .transform((items, context): z.output<Item>[] => {
      const good: z.output<Item>[] = []
      for (const [index, each] of items.entries()) {
        const parsed = item.safeParse(each)
        if (parsed.success) good.push(parsed.data)
        else {
          for (const { path, message } of parsed.error.issues) {
            context.addIssue({ code: 'custom', message, path: [index, ...path] })
          }
        }
        if (context.issues.length >= MAX_PROBLEMS) break
      }
      return good
    })
    .register(lists, { item })
