import { z } from 'zod'
import { count, id, timeText } from './fields.ts'

export const eventSchema = z
  .object({
    id,
    kind: z.enum(['create', 'update', 'delete', 'truncate', 'import', 'structure']),
    table: z.string().nullable(),
    rowCount: count.meta({ description: 'How many rows it has; a statement of very many is several events.' }),
    rows: z.array(z.string()).meta({
      description:
        'The first 20 of them, each as JSON, with all digits: what the rows were after the event, of `delete` before it. What has ' +
        'more than 10,000 characters is cut off, and ends in `…`.',
    }),
    tokenId: id
      .nullable()
      .meta({ description: 'The token of this server with which it was done; null for another, and for SQL.' }),
    occurredAt: timeText,
    importedAt: timeText
      .nullable()
      .meta({ description: 'When it came with an archive; null for one that happened here.' }),
    cursor: z.string().meta({ description: 'For `after`.' }),
  })
  .meta({ id: 'Event', description: 'One entry of the event log of a stage.' })
