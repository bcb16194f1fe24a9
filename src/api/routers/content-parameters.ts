import { z } from 'zod'

/** What the content endpoint reads from a request, for the description: it is parsed by the dialect's own rules. */
const text = (description: string, example: string) =>
  z
    .string()
    .optional()
    .meta({ description, examples: [example] })

export const readQuery = z.object({
  select: text('Columns, renamed or cast, and rows of related tables.', 'title,artist(name)'),
  order: text('Columns by which the rows are ordered.', 'title.desc.nullslast'),
  limit: text('The maximum number of rows.', '20'),
  offset: text('How many rows to skip.', '40'),
  or: text(
    'One of these filters; any other parameter is a filter on the column of its name.',
    '(year.gte.1990,year.is.null)',
  ),
})

export const readHeaders = z.object({
  'x-service-ref': text(
    'The reference that came with the last answer; answered with 304 while it is current.',
    'first',
  ),
  'if-none-match': text('The same as an entity tag.', 'W/"0f8b8a52-2f1f-4d0e-9c5b-0f6d7c1c2a11"'),
  range: text('The first and the last row.', '0-19'),
  prefer: text(
    '`count=exact`, `count=planned` or `count=estimated`; `timezone=…`; `handling=strict` or `handling=lenient`.',
    'count=exact',
  ),
  'accept-profile': text('The stage of the address, or `public`; another schema is refused.', 'live'),
})

export const callHeaders = z.object({
  prefer: text('`count=exact`; `tx=rollback`; `max-affected=…`; `timezone=…`; `handling=…`.', 'count=exact'),
  'content-profile': text('The stage of the address, or `public`; another schema is refused.', 'live'),
})

export const writeQuery = z.object({
  select: text('What the answer shows of the rows written.', 'id,title'),
  columns: text('Which columns of the body are written; the others are left out.', 'id,title'),
  on_conflict: text('Columns of the key that decides whether a row exists already.', 'title'),
})

export const writeHeaders = z.object({
  prefer: text(
    '`return=representation`, `return=headers-only` or `return=minimal`; `missing=default`; `resolution=merge-duplicates` or `resolution=ignore-duplicates`; `count=exact`; `tx=rollback`; `max-affected=…`; `timezone=…`; `handling=…`.',
    'return=representation',
  ),
  'content-profile': text('The stage of the address, or `public`; another schema is refused.', 'live'),
})
