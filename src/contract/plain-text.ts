import { z } from 'zod'

/** Half of a pair of UTF-16 code units, which UTF-8 can't say: it would be stored as U+FFFD, and read as that. */
const LONE_SURROGATE = /\p{Surrogate}/u

/** Text that PostgreSQL can store as it is: it has no NUL character, and is Unicode. */
export const plainText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((text) => !text.includes('\0'), { error: 'must not have a NUL character' })
    .refine((text) => !LONE_SURROGATE.test(text), { error: 'must be Unicode, and has half of a surrogate pair' })
