import { z } from 'zod'
import type { Container } from '../../container.ts'
import { slug } from '../../contract/fields.ts'
import { importAnswerSchema } from '../../contract/import.ts'
import { undoneSchema } from '../../contract/project.ts'
import type { Transaction } from '../../database/database.ts'
import { invalidRequest } from '../../errors.ts'
import { type Caller, lockCaller, tokenIdOf } from '../../projects/access.ts'
import { assertMayMove, assertPermission } from '../../projects/assert-permission.ts'
import { findProject } from '../../projects/projects.ts'
import { findStage } from '../../projects/stages.ts'
import type { ArchiveProject } from '../../transfer/import/archive-lists.ts'
import { discardKept } from '../../transfer/import/discard-kept.ts'
import { toExaminedStage } from '../../transfer/import/examined-stage.ts'
import { importArchive } from '../../transfer/import/import-archive.ts'
import { toCompleteness, toRolesResult } from '../../transfer/import/import-result.ts'
import { planRolesOf } from '../../transfer/import/import-roles.ts'
import { type CheckOptions, checkArchive } from '../../transfer/import/receive-archive.ts'
import { admitLastStage } from '../../transfer/import/structure-permission.ts'
import { compareTargets, type TargetProject, targetSlugs } from '../../transfer/import/targets.ts'
import { tryBuilding } from '../../transfer/import/try-building.ts'
import { undoImport } from '../../transfer/import/undo.ts'
import { empty, json } from '../answer.ts'
import { streamBody } from '../body.ts'
import { parsePrefer } from '../prefer.ts'
import { queryFlag } from '../query.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { accepted, asyncHeaders } from './accept-job.ts'
import { acceptImport } from './import-job.ts'

const route = routesUnder('Data')

const importProjects = route('POST /import', {
  operationId: 'importArchive',
  summary: 'Imports an archive over the existing data',
  description:
    'All projects and stages of the archive together, or nothing. The archive is received and checked as a whole before ' +
    'anything is changed; readers of the stages see the old rows until all new ones are there. Needs `content.import` in ' +
    'every target, `content.structure` where a stage is empty, so that it would be built from the archive, and ' +
    '`system.import` where the archive has the system section. With `Prefer: respond-async` the archive is received and ' +
    'checked in the same way, and then imported by a job.',
  access: { by: 'request', permissions: ['content.import'], system: ['system.import'] },
  query: z.object({
    targetSlug: slug.optional().meta({ description: 'Where the data goes, for an archive of one project.' }),
    dryRun: queryFlag().meta({ description: 'Does all the checks, and answers with what would happen.' }),
    allowEdited: queryFlag().meta({
      description: 'Accepts an archive whose rows were edited: counts and sums may disagree.',
    }),
    allowIncomplete: queryFlag().meta({
      description: 'Accepts an archive that lacks rows of what it was made from. By default that is refused.',
    }),
  }),
  headers: z.object(asyncHeaders),
  body: streamBody('application/x-ndjson', 'The archive; `Content-Encoding: gzip` where it is compressed.'),
  answers: {
    200: json(importAnswerSchema, 'The archive has been imported; or could be, where `dryRun` was asked for.'),
    202: accepted,
  },
  errors: [
    'CONFLICT',
    'INCOMPLETE',
    'ARCHIVE_INVALID',
    'ATTACHED_FAILED',
    'ATTACHED_PROJECT',
    'DATABASE_UNAVAILABLE',
    'QUEUE_UNAVAILABLE',
    'STORAGE_FULL',
    'STORAGE_UNAVAILABLE',
    'IDEMPOTENCY_KEY_REUSED',
  ],
})

const undo = route('POST /projects/{slug}/stages/{stage}/undo', {
  operationId: 'undoImport',
  summary: 'Puts back what the last import or transfer replaced',
  description: 'Needs `content.import`. The current contents are kept in turn, so an undo can be undone.',
  access: { by: 'permission', permission: 'content.import', project: 'slug' },
  params: z.object({ slug, stage: slug }),
  query: z.object({
    force: queryFlag().meta({ description: 'Also where the stage was written to since: those writes are given up.' }),
  }),
  answers: {
    200: json(undoneSchema, 'What was replaced is back.'),
  },
  errors: ['CONFLICT', 'WRITTEN_SINCE', 'ATTACHED_FAILED', 'ATTACHED_PROJECT'],
})

const discard = route('DELETE /projects/{slug}/stages/{stage}/undo', {
  operationId: 'discardReplaced',
  summary: 'Drops what the last import or transfer replaced, so that no undo can put it back',
  description:
    'Needs `content.import`. What is kept in an attached database shares types with the stage, so that they can be neither ' +
    'dropped nor changed for the stage alone. Where nothing is kept, nothing happens.',
  access: { by: 'permission', permission: 'content.import', project: 'slug' },
  params: z.object({ slug, stage: slug }),
  answers: { 204: empty('Nothing is kept of what was replaced.') },
  errors: ['CONFLICT', 'ATTACHED_FAILED', 'ATTACHED_PROJECT'],
})

/** `/import`, and the undoing of it. */
export function importRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { config } = container
  return [
    importProjects.handle<Caller>(async ({ query, headers, body, caller, signal }) => {
      const { targetSlug, dryRun, allowEdited, allowIncomplete } = query
      const admit = async (projects: readonly ArchiveProject[]): Promise<void> => {
        const targets = targetSlugs(projects, targetSlug)
        assertMayImport(caller, projects, targets)
        await admitLastStage(container, tokenIdOf(caller), projects, targets)
      }
      const options: CheckOptions = {
        maxLineBytes: config.maxLineBytes,
        maxStructureLineBytes: config.maxStructureLineBytes,
        allowEdited,
        allowIncomplete,
        signal,
        admit,
      }
      // An upload can take long enough for a token to be revoked.
      const authorise = async (
        tx: Transaction,
        projects: readonly ArchiveProject[],
        targets: readonly string[],
      ): Promise<Caller> => {
        const now = await lockCaller(tx, caller, targets)
        assertMayImport(now, projects, targets)
        return now
      }
      if (dryRun) {
        const projects = await checkArchive(body.bytes, options)
        const examined = await compareTargets(container, projects, targetsOf(projects, targetSlug), {
          countRows: true,
          tokenId: tokenIdOf(caller),
        })
        await tryBuilding(container, examined, signal)
        return {
          status: 200,
          body: {
            ok: true,
            dryRun,
            projects: await Promise.all(examined.map((target) => toExaminedBody(container, caller, target))),
            ...toCompleteness(projects),
          },
        }
      }
      if (parsePrefer(headers.prefer).respondAsync) {
        return acceptImport(container, { bytes: body.bytes, targetSlug, options, caller, authorise, headers })
      }
      let lacking = toCompleteness([])
      const imported = await importArchive(container, (use) => use(body.bytes), {
        targetsOf: (projects) => targetsOf(projects, targetSlug),
        tokenId: tokenIdOf(caller),
        admit,
        authorise,
        signal,
        allowEdited,
        allowIncomplete,
        onReceived: (projects) => {
          lacking = toCompleteness(projects)
        },
      })
      return { status: 200, body: { ok: true, dryRun, projects: imported, ...lacking } }
    }),
    ...undoRoutes(container),
  ]
}

function undoRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { control } = container
  return [
    undo.handle<Caller>(async ({ params, query, caller }) => {
      const project = await findProject(control.prisma, params.slug)
      const { id: stageId, schemaName } = findStage(project, params.stage)
      const database = await container.projectDatabase(project, 'imports')
      const stage = { ...database, stageId, schemaName, projectId: project.id }
      const undone = await undoImport(container, stage, {
        force: query.force,
        tokenId: tokenIdOf(caller),
        authorise: async (tx) => {
          const now = await lockCaller(tx, caller, [project.slug])
          assertPermission(now, project.slug, 'content.import')
          return now
        },
      })
      return {
        status: 200,
        body: { ok: true, replacedAt: undone.replacedAt.toISOString(), tables: undone.tables },
      }
    }),
    discard.handle<Caller>(async ({ params }) => {
      const project = await findProject(control.prisma, params.slug)
      await discardKept(container, findStage(project, params.stage).id)
      return { status: 204 }
    }),
  ]
}

function targetsOf(projects: readonly ArchiveProject[], requested: string | undefined): readonly string[] {
  if (projects.length === 0) throw invalidRequest('the archive has no project')
  return targetSlugs(projects, requested)
}

/** All targets before the first change: an archive whose second project is forbidden leaves the first as it is. */
function assertMayImport(caller: Caller, projects: readonly ArchiveProject[], targets: readonly string[]): void {
  for (const [index, { system }] of projects.entries()) assertMayMove(caller, 'import', targets[index] ?? '', system)
}

async function toExaminedBody(container: Container, caller: Caller, target: TargetProject) {
  const { archived, project, stages } = target
  return {
    slug: archived.slug,
    targetSlug: project.slug,
    ...toRolesResult(await planRolesOf(container.control.prisma, target, caller)),
    stages: await Promise.all(stages.map((target) => toExaminedStage(container, target, stages))),
  }
}
