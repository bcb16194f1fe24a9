import { z } from 'zod'
import type { Container } from '../../container.ts'
import { attachRequest, logEvents, schemaName } from '../../contract/attachment.ts'
import { slug } from '../../contract/fields.ts'
import { pageOf } from '../../contract/page.ts'
import { plainText } from '../../contract/plain-text.ts'
import { eventLogSchema, projectSchema, stageSchema } from '../../contract/project.ts'
import { withTheirSchedules } from '../../jobs/schedules/schedules-of-projects.ts'
import type { Caller } from '../../projects/access.ts'
import { attachLoggedProject, attachLoggedStage } from '../../projects/attached/attach-logged.ts'
import { detachStage } from '../../projects/attached/detach-project.ts'
import { switchLog } from '../../projects/attached/log-stage.ts'
import { createOwnProject, deleteOwnProject } from '../../projects/own-database/own-project.ts'
import { createOwnStage, deleteOwnStage } from '../../projects/own-database/own-stages.ts'
import {
  createProject,
  deleteProject,
  findProject,
  keepEvents,
  listProjects,
  type Project,
} from '../../projects/projects.ts'
import { createStage, DEFAULT_STAGE, deleteStage, type Stage } from '../../projects/stages.ts'
import { empty, json } from '../answer.ts'
import { jsonBody } from '../body.ts'
import { pageQuery, readPage } from '../paging.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { commandProofHeader, forceQuery, hostsFor, schedulesQuery } from './given-address.ts'

const route = routesUnder('Projects')
const stageParams = z.object({ slug, stage: slug })

/** Of lists of projects. */
export const searchQuery = plainText(200).optional().meta({ description: 'Only projects with this in their slug.' })

const list = route('GET /projects', {
  operationId: 'listProjects',
  summary: 'The projects that the token may know of, by slug',
  access: { by: 'token' },
  query: z.object({ ...pageQuery, search: searchQuery }),
  answers: { 200: json(pageOf(projectSchema), 'A page of projects.') },
})

const create = route('POST /projects', {
  operationId: 'createProject',
  summary: 'Creates a project with its stages and the default roles; for the root token',
  access: { by: 'root' },
  description:
    "With `attach`, the project's stages are schemas of a database that is not Wharf's. The address is tried at once, and " +
    'nothing is changed there. Its host has to be in WHARF_TRANSFER_HOSTS.',
  headers: commandProofHeader,
  body: jsonBody(
    z
      .strictObject({
        slug,
        stages: z.array(slug).min(1).max(100).exactOptional().meta({ description: '`live` where it is left out.' }),
        ownDatabase: z.boolean().exactOptional().meta({
          description:
            'Whether the project gets a database of its own on the same server, in which its first stage is the schema `public`.',
        }),
        attach: attachRequest.exactOptional(),
      })
      .refine(({ ownDatabase, attach }) => !ownDatabase || !attach, {
        path: ['ownDatabase'],
        error: 'must not be there beside "attach", which names a database',
      })
      .refine(({ stages, attach }) => !stages || !attach, {
        path: ['stages'],
        error: 'must not be there beside "attach", which has the stages',
      }),
  ),
  answers: { 201: json(projectSchema, 'The new project.', { location: 'Path of the project.' }) },
  errors: ['CONFLICT', 'DATABASE_UNSUITABLE', 'ATTACHED_FAILED'],
})

const show = route('GET /projects/{slug}', {
  operationId: 'showProject',
  summary: 'One project',
  access: { by: 'member', project: 'slug' },
  params: z.object({ slug }),
  answers: { 200: json(projectSchema, 'The project.') },
})

const change = route('PATCH /projects/{slug}', {
  operationId: 'changeProject',
  summary: 'Says what is kept of the event logs of a project; for the root token',
  description:
    'Older events are removed in the minutes after, and then again and again, the oldest first. The latest event of each ' +
    'stage always stays. What is left out stays as it is.',
  access: { by: 'root' },
  params: z.object({ slug }),
  body: jsonBody(
    z.strictObject({
      eventLog: z.strictObject({
        keepDays: eventLogSchema.shape.keepDays.exactOptional(),
        keepEvents: eventLogSchema.shape.keepEvents.exactOptional(),
      }),
    }),
  ),
  answers: { 200: json(projectSchema, 'The project.') },
  errors: ['NOT_FOUND'],
})

const remove = route('DELETE /projects/{slug}', {
  operationId: 'deleteProject',
  summary: 'Deletes a project with all its stages, rows and roles; for the root token',
  access: { by: 'root' },
  params: z.object({ slug }),
  query: schedulesQuery,
  answers: { 204: empty('The project is gone.') },
  errors: ['NOT_FOUND', 'CONFLICT', 'ATTACHED_PROJECT'],
})

const listStages = route('GET /projects/{slug}/stages', {
  operationId: 'listStages',
  summary: "The project's stages, in the order in which they were made",
  access: { by: 'member', project: 'slug' },
  params: z.object({ slug }),
  answers: { 200: json(pageOf(stageSchema), 'All stages.') },
})

const addStage = route('POST /projects/{slug}/stages', {
  operationId: 'createStage',
  summary: 'Adds a stage: an empty one, or a schema of an attached project; for the root token',
  access: { by: 'root' },
  params: z.object({ slug }),
  body: jsonBody(
    z
      .strictObject({
        slug,
        schema: schemaName
          .exactOptional()
          .meta({ description: 'Of an attached project, and only there: the schema that is the stage.' }),
        logEvents: logEvents.exactOptional(),
      })
      .refine((stage) => stage.schema !== undefined || stage.logEvents === undefined, {
        path: ['logEvents'],
        error: 'must not be there without "schema": the log of a stage of Wharf’s own is always kept',
      }),
  ),
  answers: { 201: json(stageSchema, 'The new stage.') },
  errors: ['NOT_FOUND', 'CONFLICT', 'ATTACHED_PROJECT', 'ATTACHED_FAILED'],
})

const changeStage = route('PATCH /projects/{slug}/stages/{stage}', {
  operationId: 'changeStage',
  summary: 'Has the event log of an attached stage kept, or no longer; for the root token',
  description:
    'The log is kept in the database of the stage, in the schema `wharf_log`, by triggers on its tables, for which the login ' +
    'has to be their owner. With the log, its rows can be read at `/content`. Where it is no longer kept, all of it is removed.',
  access: { by: 'root' },
  params: stageParams,
  body: jsonBody(z.strictObject({ logEvents })),
  answers: { 200: json(stageSchema, 'The stage.') },
  errors: ['NOT_FOUND', 'CONFLICT', 'ATTACHED_FAILED'],
})

const removeStage = route('DELETE /projects/{slug}/stages/{stage}', {
  operationId: 'deleteStage',
  summary: 'Deletes a stage with all its rows, or detaches one of an attached project; for the root token',
  description:
    'The rows of an attached stage stay in its schema; its event log, and what imports have left, are removed unless `force`.',
  access: { by: 'root' },
  params: stageParams,
  query: forceQuery,
  answers: { 204: empty('The stage is gone.') },
  errors: ['NOT_FOUND', 'CONFLICT', 'ATTACHED_FAILED'],
})

/** `/projects` and the stages below it. @param proofSecret of the data folder, which commands prove that they can read. */
export function projectRoutes(container: Container, proofSecret: string): readonly BoundRoute<Caller>[] {
  const { control, config, logins, seal, room } = container
  const database = control.prisma
  return [
    list.handle<Caller>(async ({ query, caller }) => {
      const find = (limit: number) => listProjects(database, { ...query, limit, ...visibleTo(caller) })
      const { items, next } = await readPage(query, find, ({ slug }) => slug)
      return { status: 200, body: { items: items.map(toProjectBody), next } }
    }),
    create.handle<Caller>(async ({ body: { slug, attach, ownDatabase, stages = [DEFAULT_STAGE] }, headers }) => {
      const createHosted = async (): Promise<Project> => {
        const planned = { slug, stages, connectionLimit: await room.limitOfNew() }
        if (ownDatabase) return createOwnProject(container, planned)
        return database.$transaction((tx) => createProject(tx, seal, planned), PATIENT)
      }
      const attachIt = ({ address, stages }: z.output<typeof attachRequest>): Promise<Project> => {
        const allowed = hostsFor(headers, address, { config, proofSecret })
        return attachLoggedProject(container, { slug, stages, address, allowed, pointer: '/attach/address' })
      }
      const project = await (attach ? attachIt(attach) : createHosted())
      return { status: 201, headers: { location: `/projects/${project.slug}` }, body: toProjectBody(project) }
    }),
    show.handle<Caller>(async ({ params }) => {
      return { status: 200, body: toProjectBody(await findProject(database, params.slug)) }
    }),
    change.handle<Caller>(async ({ params, body: { eventLog } }) => {
      return { status: 200, body: toProjectBody(await keepEvents(database, params.slug, eventLog)) }
    }),
    remove.handle<Caller>(async ({ params, query: { deleteSchedules } }) => {
      const project = await findProject(database, params.slug)
      const { artifactDays } = config
      await withTheirSchedules(container, { slugs: [project.slug], deleteSchedules, artifactDays }, async () => {
        if (project.location === 'own') await deleteOwnProject(container, project)
        else await deleteProject(database, params.slug, PATIENT)
      })
      logins.forget(project.login)
      return { status: 204 }
    }),
    listStages.handle<Caller>(async ({ params }) => {
      const project = await findProject(database, params.slug)
      return { status: 200, body: { items: project.stages.map(toStageBody(project)), next: null } }
    }),
    addStage.handle<Caller>(async ({ params, body }) => {
      const project = await findProject(database, params.slug)
      const { slug, schema, logEvents = false } = body
      const create = (): Promise<Stage> =>
        project.location === 'own'
          ? createOwnStage(container, project, slug)
          : database.$transaction((tx) => createStage(tx, project, slug))
      const stage = await (schema === undefined
        ? create()
        : attachLoggedStage(container, project, { slug, schema, logEvents }))
      return { status: 201, body: toStageBody(project)(stage) }
    }),
    changeStage.handle<Caller>(async ({ params, body: { logEvents } }) => {
      const project = await findProject(database, params.slug)
      const stage = await switchLog(container, project, { slug: params.stage, logEvents })
      return { status: 200, body: toStageBody(project)(stage) }
    }),
    removeStage.handle<Caller>(async ({ params, query }) => {
      const project = await findProject(database, params.slug)
      if (project.location === 'attached') await detachStage(container, project, { slug: params.stage, ...query })
      else if (project.location === 'own') await deleteOwnStage(container, project, params.stage)
      else await database.$transaction((tx) => deleteStage(tx, project, params.stage), PATIENT)
      return { status: 204 }
    }),
  ]
}

/** A hundred stages take a while to make, and dropping a table waits for its readers. */
const PATIENT = { timeout: 120_000 }

/** Which projects a caller may know of. */
export const visibleTo = (caller: Caller) => (caller.kind === 'root' ? {} : { slugs: [...caller.roles.keys()] })

const toStageBody =
  ({ location }: Project) =>
  ({ slug, createdAt, schemaName, loggedSince }: Stage) => ({
    slug,
    createdAt: createdAt.toISOString(),
    schema: location === 'attached' ? schemaName : null,
    logEvents: location === 'shared' || loggedSince !== null,
  })

export const toProjectBody = (project: Project) => ({
  slug: project.slug,
  createdAt: project.createdAt.toISOString(),
  attached: project.location === 'attached',
  ownDatabase: project.location === 'own',
  eventLog: project.eventLog,
  stages: project.stages.map(toStageBody(project)),
})
