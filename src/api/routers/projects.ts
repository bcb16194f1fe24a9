import { z } from 'zod'
import type { Container } from '../../container.ts'
import { slug } from '../../contract/fields.ts'
import { pageOf } from '../../contract/page.ts'
import { projectSchema, stageSchema } from '../../contract/project.ts'
import type { Caller } from '../../projects/access.ts'
import { createProject, deleteProject, findProject, listProjects, type Project } from '../../projects/projects.ts'
import { createStage, DEFAULT_STAGE, deleteStage, type Stage } from '../../projects/stages.ts'
import { empty, json } from '../answer.ts'
import { jsonBody } from '../body.ts'
import { pageQuery, readPage } from '../paging.ts'
import { type BoundRoute, routesUnder } from '../route.ts'

const route = routesUnder('Projects')
const stageParams = z.object({ slug, stage: slug })

const list = route('GET /projects', {
  operationId: 'listProjects',
  summary: 'The projects that the token may know of, by slug',
  access: { by: 'token' },
  query: z.object(pageQuery),
  answers: { 200: json(pageOf(projectSchema), 'A page of projects.') },
})

const create = route('POST /projects', {
  operationId: 'createProject',
  summary: 'Creates a project with its stages and the default roles; for the root token',
  access: { by: 'root' },
  body: jsonBody(z.strictObject({ slug, stages: z.array(slug).min(1).max(100).default([DEFAULT_STAGE]) })),
  answers: { 201: json(projectSchema, 'The new project.', { location: 'Path of the project.' }) },
  errors: ['CONFLICT', 'DATABASE_UNSUITABLE'],
})

const show = route('GET /projects/{slug}', {
  operationId: 'showProject',
  summary: 'One project',
  access: { by: 'member', project: 'slug' },
  params: z.object({ slug }),
  answers: { 200: json(projectSchema, 'The project.') },
})

const remove = route('DELETE /projects/{slug}', {
  operationId: 'deleteProject',
  summary: 'Deletes a project with all its stages, rows and roles; for the root token',
  access: { by: 'root' },
  params: z.object({ slug }),
  answers: { 204: empty('The project is gone.') },
  errors: ['NOT_FOUND', 'CONFLICT'],
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
  summary: 'Adds an empty stage; for the root token',
  access: { by: 'root' },
  params: z.object({ slug }),
  body: jsonBody(z.strictObject({ slug })),
  answers: { 201: json(stageSchema, 'The new stage.') },
  errors: ['NOT_FOUND', 'CONFLICT'],
})

const removeStage = route('DELETE /projects/{slug}/stages/{stage}', {
  operationId: 'deleteStage',
  summary: 'Deletes a stage with all its rows; for the root token',
  access: { by: 'root' },
  params: stageParams,
  answers: { 204: empty('The stage is gone.') },
  errors: ['NOT_FOUND', 'CONFLICT'],
})

/** `/projects` and the stages below it. */
export function projectRoutes({ control, logins, seal, room }: Container): readonly BoundRoute<Caller>[] {
  const database = control.prisma
  return [
    list.handle<Caller>(async ({ query, caller }) => {
      const find = (limit: number) => listProjects(database, { ...query, limit, ...visibleTo(caller) })
      const { items, next } = await readPage(query, find, ({ slug }) => slug)
      return { status: 200, body: { items: items.map(toProjectBody), next } }
    }),
    create.handle<Caller>(async ({ body }) => {
      const connectionLimit = await room.limitOfNew()
      const project = await database.$transaction(
        (tx) => createProject(tx, seal, { ...body, connectionLimit }),
        PATIENT,
      )
      return { status: 201, headers: { location: `/projects/${project.slug}` }, body: toProjectBody(project) }
    }),
    show.handle<Caller>(async ({ params }) => {
      return { status: 200, body: toProjectBody(await findProject(database, params.slug)) }
    }),
    remove.handle<Caller>(async ({ params }) => {
      const { login } = await deleteProject(database, params.slug, PATIENT)
      logins.forget(login)
      return { status: 204 }
    }),
    listStages.handle<Caller>(async ({ params }) => {
      const { stages } = await findProject(database, params.slug)
      return { status: 200, body: { items: stages.map(toStageBody), next: null } }
    }),
    addStage.handle<Caller>(async ({ params, body }) => {
      const stage = await database.$transaction(async (tx) =>
        createStage(tx, await findProject(tx, params.slug), body.slug),
      )
      return { status: 201, body: toStageBody(stage) }
    }),
    removeStage.handle<Caller>(async ({ params }) => {
      await database.$transaction(
        async (tx) => deleteStage(tx, await findProject(tx, params.slug), params.stage),
        PATIENT,
      )
      return { status: 204 }
    }),
  ]
}

/** A hundred stages take a while to make, and dropping a table waits for its readers. */
const PATIENT = { timeout: 120_000 }

const visibleTo = (caller: Caller) => (caller.kind === 'root' ? {} : { slugs: [...caller.roles.keys()] })

const toStageBody = (stage: Stage) => ({ slug: stage.slug, createdAt: stage.createdAt.toISOString() })

const toProjectBody = (project: Project) => ({
  slug: project.slug,
  createdAt: project.createdAt.toISOString(),
  stages: project.stages.map(toStageBody),
})
