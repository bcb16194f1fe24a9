import { z } from 'zod'
import { count, id, slug, timeText } from './fields.ts'

export const stageSchema = z.object({ slug, createdAt: timeText }).meta({ id: 'Stage' })

export const projectSchema = z
  .object({ slug, createdAt: timeText, stages: z.array(stageSchema) })
  .meta({ id: 'Project' })

/** What `schema:apply` did. */
export const schemaChangeSchema = z.object({
  id: id.meta({ description: 'The record of this change.' }),
  stage: slug,
  tables: z.int().meta({ description: 'How many tables the stage has now.' }),
})

/** What an undo brought back. */
export const undoneSchema = z.object({
  ok: z.literal(true),
  replacedAt: timeText.meta({ description: 'When the contents that are back now were replaced.' }),
  tables: z.array(z.object({ name: z.string(), rows: count })),
})
