import { z } from 'zod'
import { count, id, slug, timeText } from './fields.ts'
import { added } from './from-server.ts'

export const stageSchema = z
  .object({
    slug,
    createdAt: timeText,
    schema: added(
      z.string().nullable().meta({ description: 'Of an attached stage, the PostgreSQL schema that it is; else null.' }),
      null,
    ),
    logEvents: added(
      z.boolean().meta({
        description: 'Whether an event log is kept of it: of an attached stage, only where that was asked for.',
      }),
      false,
    ),
  })
  .meta({ id: 'Stage' })

const DAYS = 36_500
const EVENTS = 1_000_000_000

/** What of a project's event logs is kept. */
export const eventLogSchema = z.strictObject({
  keepDays: z
    .int()
    .min(0)
    .max(DAYS)
    .nullable()
    .meta({ description: 'For how many days events are kept; 0 for ever, null as WHARF_EVENT_LOG_DAYS has it.' }),
  keepEvents: z.int().min(0).max(EVENTS).nullable().meta({
    description: 'How many events the log of each stage keeps; 0 any number, null as WHARF_EVENT_LOG_EVENTS has it.',
  }),
})

export const projectSchema = z
  .object({
    slug,
    createdAt: timeText,
    attached: added(
      z.boolean().meta({ description: "Whether its stages are in a database that is not Wharf's." }),
      false,
    ),
    ownDatabase: added(
      z.boolean().meta({ description: 'Whether its stages are in a database that Wharf made for it alone.' }),
      false,
    ),
    eventLog: added(eventLogSchema, { keepDays: null, keepEvents: null }),
    stages: z.array(stageSchema),
  })
  .meta({ id: 'Project' })

const lineNumber = z.int().min(1)

/** What `schema:apply` did. */
export const schemaChangeSchema = z.object({
  id: id.meta({ description: 'The record of this change.' }),
  stage: slug,
  tables: z.int().meta({ description: 'How many tables the stage has now.' }),
  statements: added(count.meta({ description: 'How many statements were run.' }), 0),
  rows: added(count.meta({ description: 'How many rows the COPY blocks of the script had.' }), 0),
  passedOver: added(
    z
      .array(
        z.object({
          statement: z.string().meta({ description: "What it is in SQL's words, e.g. `OWNER TO`." }),
          count,
          line: lineNumber.meta({ description: 'Where the first of them is.' }),
        }),
      )
      .meta({ description: 'The statements of a dump that say nothing about a stage, and were not run.' }),
    [],
  ),
  unmappedFunctions: added(
    z.array(z.object({ name: z.string(), line: lineNumber })).meta({
      description:
        "The functions of a dump whose body names the dump's schema where that could not be mapped, such as SQL in strings. `DO` stands for a `DO` statement.",
    }),
    [],
  ),
})

/** What an undo brought back. */
export const undoneSchema = z.object({
  ok: z.literal(true),
  replacedAt: timeText.meta({ description: 'When the contents that are back now were replaced.' }),
  tables: z.array(z.object({ name: z.string(), rows: count })),
})

/** What an undo would bring back. */
export const keptSchema = z.object({
  kept: z
    .object({
      replacedAt: timeText.meta({ description: 'When an import, a transfer or an undo replaced it.' }),
      until: timeText.meta({ description: 'It may be dropped then.' }),
      jobId: added(
        id.nullable().meta({
          description:
            'The job of the last import or transfer, which an undo takes back, or puts back where it is undone; null where no job did it.',
        }),
        null,
      ),
      undone: added(
        z.boolean().meta({
          description:
            'Whether that import is undone: what is kept is then what it had brought, and an undo puts that back.',
        }),
        false,
      ),
      tables: added(
        z
          .array(
            z.object({
              name: z.string(),
              rowsNow: count.nullable().meta({ description: 'null where the stage does not have the table.' }),
              rowsAfter: count.nullable().meta({ description: 'null where the table would be gone.' }),
            }),
          )
          .nullable()
          .meta({
            description:
              "What an undo would change, by table, as the project's own login sees the rows; null where `rows` did not ask for it.",
          }),
        null,
      ),
    })
    .nullable()
    .meta({ description: 'null where there is nothing to undo.' }),
})
