import { z } from 'zod'

/** The body of every list. */
export const pageOf = <S extends z.ZodType>(item: S) =>
  z.object({
    items: z.array(item),
    next: z.string().nullable().meta({ description: '`after` of the next page; null on the last one.' }),
  })
