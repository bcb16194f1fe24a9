import { z } from 'zod'
import { count, id, timeText } from './fields.ts'

/** An archive that arrives in as many requests as it takes. */
export const uploadSchema = z
  .object({
    id,
    length: count.meta({ description: 'How many bytes it has once it is whole.' }),
    offset: count.meta({ description: 'How many bytes are there. The next ones are sent from here on.' }),
    expiresAt: timeText.meta({ description: 'When it goes, unless more is sent or it is used before.' }),
  })
  .meta({ id: 'Upload' })
