import { z } from 'zod'
import { attachedStage, databaseAddress } from './attachment.ts'
import { slug, timeText } from './fields.ts'

/** What becomes of a database of a server that is looked at. */
export const FOUND_OUTCOMES = ['attached', 'already attached', 'excluded', 'refused', 'gone'] as const

const serverAddress = databaseAddress.meta({
  description:
    'The address of the server, with its password: `postgres://login:password@host:port/database?exclude=a,b*`. The ' +
    'database is the one in which the others are looked for, `postgres` where it is left out. `exclude` names databases ' +
    'that are left out, with commas between: `*` stands for any characters, `?` for a single one, and what is in double ' +
    'quotes for itself. The address is kept encrypted, and never shown again.',
})

const prefix = z
  .string()
  .max(40)
  .regex(/^([a-z][a-z0-9_-]*)?$/, { error: 'must be a lower-case letter, then letters, digits, "-" or "_"' })
  .meta({ description: 'What the slugs of its projects begin with.' })

const fields = {
  name: slug.meta({ description: 'What the server is called here.' }),
  address: z.string().meta({ description: 'The address without its password and parameters.' }),
  login: z.string(),
  prefix,
  exclude: z.array(z.string()).meta({ description: 'Patterns of the databases that are left out.' }),
  createdAt: timeText,
  changedAt: timeText.meta({ description: 'When the address was given.' }),
}

/** A server each of whose databases is attached. */
export const attachedServerSchema = z
  .object({
    ...fields,
    projects: z
      .array(z.object({ database: z.string(), project: slug }))
      .meta({ description: 'The projects that its databases are.' }),
  })
  .meta({ id: 'AttachedServer' })

/** The same after a look at it. */
export const lookedAtServerSchema = z
  .object({
    ...fields,
    databases: z.array(
      z.object({
        database: z.string(),
        project: slug.nullable().meta({ description: 'The project that it is; null where it is none.' }),
        outcome: z.enum(FOUND_OUTCOMES).meta({
          description:
            '`attached`: now; `already attached`: earlier, by this server or by itself; `gone`: the server does not have it ' +
            'any more, and its project is still there.',
        }),
        stages: z.array(attachedStage).meta({ description: 'The stages that were made of its schemas now.' }),
        reason: z.string().nullable().meta({ description: 'Why it was refused.' }),
      }),
    ),
  })
  .meta({ id: 'LookedAtServer' })

/** What makes a server an attached one. */
export const newAttachedServer = z.strictObject({
  name: slug
    .exactOptional()
    .meta({ description: "What the server is called here; made of its host's name by default." }),
  address: serverAddress,
  prefix: prefix.exactOptional(),
})

/** What changes one. */
export const changedAttachedServer = z.strictObject({ address: serverAddress })
