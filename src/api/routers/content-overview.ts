import { z } from 'zod'

const names = z.array(z.string())

/** A stage at a glance, as `content/overview.ts` writes it. */
export const overviewSchema = z
  .object({
    project: z.string(),
    stage: z.string(),
    tables: z.array(
      z.object({
        name: z.string(),
        kind: z.enum(['table', 'view', 'materialized view', 'foreign table']),
        comment: z.string().nullable(),
        columns: z.array(
          z.object({
            name: z.string(),
            type: z.string(),
            nullable: z.boolean(),
            hasDefault: z.boolean(),
            generated: z.boolean(),
            identity: z.enum(['always', 'by default']).nullable(),
            comment: z.string().nullable(),
          }),
        ),
        primaryKey: names,
        relations: z.array(
          z.object({
            name: z.string().meta({ description: "The foreign key's name." }),
            kind: z.enum(['to one', 'to many']).meta({ description: 'How many rows of the other table one row has.' }),
            columns: names,
            table: z.string(),
            foreignColumns: names,
          }),
        ),
        rows: z.object({
          count: z.number().nullable().meta({ description: 'Null where PostgreSQL has no estimate, as for a view.' }),
          exact: z
            .boolean()
            .meta({ description: "Whether the rows were counted; otherwise this is PostgreSQL's own estimate." }),
        }),
        links: z.object({ rows: z.string() }),
      }),
    ),
    links: z.object({ self: z.string() }),
  })
  .meta({ id: 'StageOverview', description: 'A stage at a glance.' })
