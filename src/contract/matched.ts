import { z } from 'zod'

/** What is not there any more of a project that a schedule has exported before, or would export. */
export const GONE = ['project', 'database', 'schema', 'permission'] as const

/** How the projects that the patterns of a schedule stand for have changed since its last run that succeeded. */
export const matchedSchema = z
  .object({
    newProjects: z.array(z.string()).meta({ description: 'Those that it did not have. None for the first run.' }),
    goneProjects: z
      .array(
        z.object({
          project: z.string(),
          stage: z.string().nullable().meta({ description: 'Where only this stage is gone.' }),
          gone: z.enum(GONE).meta({
            description:
              'What is gone: the project, the database or the schema that it is attached to, or the permission of the token ' +
              'in whose name the schedule runs. A project whose database is gone is named by each run, until it is detached.',
          }),
        }),
      )
      .meta({ description: 'What the archive does not have, since it is gone.' }),
    refused: z.array(z.object({ server: z.string(), database: z.string(), reason: z.string() })).meta({
      description:
        'Databases of attached servers that could not be attached, or not be looked into for new schemas: what is new there ' +
        'is not in the archive.',
    }),
  })
  .meta({ id: 'MatchedProjects' })

export type MatchedProjects = z.output<typeof matchedSchema>
export type GoneProject = MatchedProjects['goneProjects'][number]
