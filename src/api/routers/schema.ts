import { z } from 'zod'
import type { Container } from '../../container.ts'
import { slug } from '../../contract/fields.ts'
import { schemaChangeSchema } from '../../contract/project.ts'
import type { Queryable } from '../../database/database.ts'
import { type Caller, lockCaller, tokenIdOf } from '../../projects/access.ts'
import { applySchema } from '../../projects/apply-schema.ts'
import { assertPermission } from '../../projects/assert-permission.ts'
import { assertNotAttached } from '../../projects/project-location.ts'
import { findProject } from '../../projects/projects.ts'
import { toStageDatabase } from '../../projects/stage-database.ts'
import { withStageLocks } from '../../projects/stage-locks.ts'
import { findStage } from '../../projects/stages.ts'
import type { Access } from '../access.ts'
import { json } from '../answer.ts'
import { streamBody } from '../body.ts'
import { queryFlag } from '../query.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { withReceivedScript } from './receive-script.ts'

const route = routesUnder('Projects')

const access = { by: 'permission', permission: 'content.structure', project: 'slug' } as const satisfies Access

const apply = route('POST /projects/{slug}/stages/{stage}/schema', {
  operationId: 'applySchema',
  summary: "Runs SQL that changes a stage's structure, or a dump, whole or not at all",
  description:
    "The script runs as the project's own database login, in one transaction of its own, when all of it has arrived: " +
    'names without a schema are in the stage, and BEGIN, COMMIT and ROLLBACK are refused. Where another transaction holds ' +
    'a table, the script is undone and run again, for WHARF_SCHEMA_LOCK_SECONDS (60); then the answer is `409` and names ' +
    'who holds it. A plain dump of pg_dump is taken as it is, with the rows of its COPY blocks: its schema `public` means ' +
    'the stage, and what it says about owners, rights of others and the session is passed over and counted.',
  access,
  params: z.object({ slug, stage: slug }),
  query: z.object({
    schema: z
      .string()
      .min(1)
      .max(63)
      .exactOptional()
      .meta({
        description:
          'The schema of the script that means the stage. `public` where it is left out and the script is a dump, which ' +
          'the comment at its beginning says; none where it is no dump.',
      }),
    strict: queryFlag().meta({ description: 'Refuses a dump with a statement that would be passed over.' }),
  }),
  body: streamBody(
    'application/sql',
    'Any number of statements, with the rows behind COPY … FROM stdin; `Content-Encoding: gzip` where it is compressed. ' +
      'UTF-8, until it sets `client_encoding`.',
  ),
  answers: {
    200: json(schemaChangeSchema, 'The script has been applied.'),
  },
  errors: ['CONFLICT', 'ATTACHED_PROJECT', 'SQL_REJECTED', 'STORAGE_FULL', 'STORAGE_UNAVAILABLE'],
})

/** `/projects/{slug}/stages/{stage}/schema` */
export function schemaRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { config, control, system, imports, importTurns, projectDatabase } = container
  return [
    apply.handle<Caller>(async ({ params, query, body, caller, signal }) => {
      const project = await findProject(control.prisma, params.slug)
      const stage = findStage(project, params.stage)
      assertNotAttached(project, 'its structure is its own', 'change it in its database, e.g. with psql')
      const found = await projectDatabase(project, 'imports')
      const stageDatabase = toStageDatabase(found, stage)
      const { schema, strict } = query
      const applied = await withReceivedScript(container, body.bytes, ({ read }) => {
        const change = {
          read,
          schema,
          strict,
          extensions: config.extensions,
          maxBytes: config.maxLineBytes,
          tokenId: tokenIdOf(caller),
          waitMs: config.schemaLockSeconds * 1_000,
          // A script may run long enough for the token to be revoked. Revoking it from here on waits for the commit.
          committing: (commit: (tx: Queryable) => Promise<void>) =>
            control.prisma.$transaction(async (tx) => {
              assertPermission(await lockCaller(tx, caller, [project.slug]), project.slug, access.permission)
              await commit(tx)
            }),
        }
        // An import that is loading would not know of the change, and swap it away.
        return importTurns.take([project.id], () =>
          withStageLocks({ imports, system }, [stage.id], (lost) =>
            applySchema(system, stageDatabase, change, AbortSignal.any([signal, lost])),
          ),
        )
      })
      const [row] = await (found.isOwn ? system : found.database).prisma.$queryRaw<{ tables: number }[]>`
        SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = ${stage.schemaName}`
      return { status: 200, body: { ...applied, stage: stage.slug, tables: row?.tables ?? 0 } }
    }),
  ]
}
