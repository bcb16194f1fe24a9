import { z } from 'zod'
import { slug, timeText } from './fields.ts'
import { added } from './from-server.ts'
import { plainText } from './plain-text.ts'

/** The header by which an operator's own command line proves that it can read the service's data folder. */
export const COMMAND_PROOF = 'wharf-command-proof'

/** What a server says of an address whose database wants a password, by which the command line knows to ask for one. */
export const PASSWORD_MISSING = 'asks for a password, and the address has none'

/** The name of a PostgreSQL schema, which has at most 63 bytes. */
export const schemaName = plainText(63)
  .min(1)
  .refine((name) => new TextEncoder().encode(name).length <= 63, { error: 'must have at most 63 bytes' })
  .refine((name) => !/^pg_|^information_schema$/.test(name), { error: "must not be one of PostgreSQL's own schemas" })

/** What a database is attached by. */
export const databaseAddress = plainText(8_192)
  .min(1)
  .meta({
    description:
      'The address of the database, with its password: `postgres://login:password@host:port/database`, and parameters as ' +
      'libpq has them. It is kept encrypted, and never shown again. It cannot name files or sockets of this server.',
  })

/** Whether the event log of an attached stage is kept. */
export const logEvents = z.boolean().meta({
  description:
    'Whether an event log of the stage is kept in its database, by triggers on its tables, so that its rows can be read at ' +
    '`/content`.',
})

export const attachedStage = z.strictObject({
  slug,
  schema: schemaName.meta({ description: 'The PostgreSQL schema that is the stage.' }),
  logEvents: logEvents.exactOptional(),
})

/** What makes a project an attached one. */
export const attachRequest = z.strictObject({
  address: databaseAddress,
  stages: z
    .array(attachedStage)
    .min(1)
    .max(100)
    .refine((stages) => new Set(stages.map((stage) => stage.slug)).size === stages.length, {
      error: 'must not name a stage twice',
    })
    .refine((stages) => new Set(stages.map((stage) => stage.schema)).size === stages.length, {
      error: 'must not name a schema twice',
    }),
})

/** How a stage could be imported into. */
export const IMPORT_WAYS = ['beside', 'object by object', 'in place', 'no'] as const

/** The database of an attached project, as it was found now. */
export const attachmentSchema = z
  .object({
    name: z.string().meta({ description: 'The address without its password and parameters.' }),
    login: z.string(),
    server: added(
      slug
        .nullable()
        .meta({ description: 'The attached server whose database it is; null for one attached by itself.' }),
      null,
    ),
    changedAt: timeText.meta({ description: 'When the address was given.' }),
    version: z.string().meta({ description: "PostgreSQL's." }),
    isSuperuser: z.boolean().meta({ description: 'Whether the login may do everything on that server.' }),
    stages: z.array(
      z.object({
        slug,
        schema: z.string(),
        mayExport: z.boolean(),
        mayImport: z.enum(IMPORT_WAYS).meta({
          description:
            'How an import would replace the stage, by what is in it and what the login may do: `beside` it and in one swap, ' +
            '`object by object` in one transaction, `in place`, or not at all.',
        }),
        reasons: z.array(z.string()).meta({ description: 'Why not more.' }),
        missing: z.array(z.string()).meta({ description: 'The SQL that would allow more.' }),
        logEvents: added(z.boolean().meta({ description: 'Whether its event log is kept there.' }), false),
        logProblems: added(
          z
            .array(z.string())
            .meta({ description: 'Why changes can go unseen by the log; no answer counts as known then.' }),
          [],
        ),
      }),
    ),
  })
  .meta({ id: 'Attachment' })
