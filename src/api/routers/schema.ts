import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import type { Container } from '../../container.ts'
import { slug } from '../../contract/fields.ts'
import { schemaChangeSchema } from '../../contract/project.ts'
import { invalidRequest } from '../../errors.ts'
import { type Caller, lockCaller, tokenIdOf } from '../../projects/access.ts'
import { applySchema } from '../../projects/apply-schema.ts'
import { assertPermission } from '../../projects/assert-permission.ts'
import { findProject } from '../../projects/projects.ts'
import { toStageDatabase } from '../../projects/stage-database.ts'
import { withStageLocks } from '../../projects/stage-locks.ts'
import { findStage } from '../../projects/stages.ts'
import type { Access } from '../access.ts'
import { json } from '../answer.ts'
import { rawBody } from '../body.ts'
import { type BoundRoute, routesUnder } from '../route.ts'

const route = routesUnder('Projects')

const MAX_SCRIPT_BYTES = 64 * 1024 * 1024

const access = { by: 'permission', permission: 'content.structure', project: 'slug' } as const satisfies Access

const apply = route('POST /projects/{slug}/stages/{stage}/schema', {
  operationId: 'applySchema',
  summary: "Runs SQL that changes a stage's structure, whole or not at all",
  description:
    "The script runs as the project's own database login, in one transaction of its own: names without a schema " +
    'are in the stage, and BEGIN, COMMIT and ROLLBACK are refused. Where another transaction holds a table, the script ' +
    'is undone and run again, for WHARF_SCHEMA_LOCK_SECONDS (60); then the answer is `409` and names who holds it.',
  access,
  params: z.object({ slug, stage: slug }),
  body: rawBody('application/sql', { maxBytes: MAX_SCRIPT_BYTES, description: 'Any number of statements, UTF-8.' }),
  answers: {
    200: json(schemaChangeSchema, 'The script has been applied.'),
  },
  errors: ['CONFLICT', 'SQL_REJECTED'],
})

/** `/projects/{slug}/stages/{stage}/schema` */
export function schemaRoutes({
  config,
  control,
  system,
  imports,
  importTurns,
  projectDatabase,
}: Container): readonly BoundRoute<Caller>[] {
  return [
    apply.handle<Caller>(async ({ params, body, caller, signal }) => {
      const project = await findProject(control.prisma, params.slug)
      const stage = findStage(project, params.stage)
      const stageDatabase = toStageDatabase(await projectDatabase(project, 'imports'), stage)
      // An import that is loading would not know of the change, and swap it away.
      const script = {
        script: toText(body),
        tokenId: tokenIdOf(caller),
        waitMs: config.schemaLockSeconds * 1_000,
        // A script may run long enough for the token to be revoked. Revoking it from here on waits for the commit.
        committing: (commit: () => Promise<void>) =>
          control.prisma.$transaction(async (tx) => {
            assertPermission(await lockCaller(tx, caller, [project.slug]), project.slug, access.permission)
            await commit()
          }),
      }
      const change = await importTurns.take([project.id], () =>
        withStageLocks({ imports, system }, [stage.id], (lost) =>
          applySchema(system, stageDatabase, script, AbortSignal.any([signal, lost])),
        ),
      )
      const [row] = await system.prisma.$queryRaw<{ tables: number }[]>`
        SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = ${stage.schemaName}`
      return { status: 200, body: { id: change, stage: stage.slug, tables: row?.tables ?? 0 } }
    }),
  ]
}

function toText(body: Buffer): string {
  if (!isUtf8(body)) throw invalidRequest('the script is not valid UTF-8')
  return body.toString('utf8')
}
