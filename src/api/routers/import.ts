import { z } from 'zod'
import type { Container } from '../../container.ts'
import { slug } from '../../contract/fields.ts'
import { keptSchema, undoneSchema } from '../../contract/project.ts'
import { noteUndone } from '../../jobs/note-undone.ts'
import { type Caller, lockCaller, tokenIdOf } from '../../projects/access.ts'
import { assertPermission } from '../../projects/assert-permission.ts'
import { findProject } from '../../projects/projects.ts'
import { findStage } from '../../projects/stages.ts'
import { compareKept } from '../../transfer/import/compare-kept.ts'
import { discardKept } from '../../transfer/import/discard-kept.ts'
import { showKept } from '../../transfer/import/find-kept.ts'
import { undoImport } from '../../transfer/import/undo.ts'
import { empty, json } from '../answer.ts'
import { streamBody } from '../body.ts'
import { queryFlag } from '../query.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { answerImport } from './answer-import.ts'
import { IMPORT_CALL } from './import-call.ts'

const route = routesUnder('Data')

const importProjects = route('POST /import', {
  ...IMPORT_CALL,
  operationId: 'importArchive',
  summary: 'Imports an archive over the existing data: restores it',
  description:
    'All projects and stages of the archive together, or nothing. The archive is received and checked as a whole before ' +
    'anything is changed; readers of the stages see the old rows until all new ones are there. Needs `content.import` in ' +
    'every target, `content.structure` where a stage is empty, so that it would be built from the archive, and ' +
    '`system.import` where the archive has the system section. With `Prefer: respond-async` the archive is received and ' +
    'checked in the same way, and then imported by a job.',
  access: { by: 'request', permissions: ['content.import'], system: ['system.import'] },
  body: streamBody('application/x-ndjson', 'The archive; `Content-Encoding: gzip` where it is compressed.'),
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

const show = route('GET /projects/{slug}/stages/{stage}/undo', {
  operationId: 'showUndo',
  summary: 'Says what an undo would bring back, and until when',
  description: 'Needs `content.import`.',
  access: { by: 'permission', permission: 'content.import', project: 'slug' },
  params: z.object({ slug, stage: slug }),
  query: z.object({
    rows: queryFlag().meta({
      description: 'Counts the rows of each table, now and after an undo, which takes a while.',
    }),
  }),
  answers: { 200: json(keptSchema, 'What is kept of what was replaced.') },
  errors: ['CONFLICT', 'ATTACHED_FAILED', 'ATTACHED_PROJECT'],
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
  return [
    importProjects.handle<Caller>(({ body, ...call }) => answerImport(container, body.bytes, call)),
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
        onUndone: async (tx, { jobId, undone }) => {
          if (jobId !== null) await noteUndone(tx, { jobId, project: project.slug, stage: params.stage }, undone)
        },
      })
      return {
        status: 200,
        body: { ok: true, replacedAt: undone.replacedAt.toISOString(), tables: undone.tables },
      }
    }),
    show.handle<Caller>(async ({ params, query }) => {
      const project = await findProject(control.prisma, params.slug)
      const { id: stageId, schemaName } = findStage(project, params.stage)
      const kept = await showKept(container.system, stageId)
      if (!kept) return { status: 200, body: { kept: null } }
      const { replacedAt, until, jobId, undone } = kept
      const compare = async () =>
        compareKept(await container.projectDatabase(project, 'imports'), { schemaName, kept: kept.schemaName })
      const body = {
        ...{ replacedAt: replacedAt.toISOString(), until: until.toISOString(), jobId, undone },
        tables: query.rows ? await compare() : null,
      }
      return { status: 200, body: { kept: body } }
    }),
    discard.handle<Caller>(async ({ params }) => {
      const project = await findProject(control.prisma, params.slug)
      await discardKept(container, findStage(project, params.stage).id)
      return { status: 204 }
    }),
  ]
}
