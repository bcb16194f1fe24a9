import { z } from 'zod'

/** Text that PostgreSQL can store: it has no NUL character. */
export const plainText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((text) => !text.includes('\0'), { error: 'must not have a NUL character' })
