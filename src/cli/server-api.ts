import type { z } from 'zod'
import type { FromServer } from '../contract/from-server.ts'
import { pageOf } from '../contract/page.ts'
import { projectSchema, schemaChangeSchema, stageSchema, undoneSchema } from '../contract/project.ts'
import { type Role, roleSchema } from '../contract/role.ts'
import { createdTokenSchema, tokenSchema } from '../contract/token.ts'
import { encodedPath, type HttpClient, jsonBody } from './http.ts'

const undone = undoneSchema.omit({ ok: true })

export type Stage = FromServer<z.output<typeof stageSchema>>
export type Project = FromServer<z.output<typeof projectSchema>>
export type Token = FromServer<z.output<typeof tokenSchema>>
export type Membership = Token['memberships'][number]
export type NewToken = FromServer<z.output<typeof createdTokenSchema>>
export type SchemaChange = FromServer<z.output<typeof schemaChangeSchema>>
export type Undone = FromServer<z.output<typeof undone>>

const PAGE_ITEMS = '200'

/** Reads a list to its end, page after page. @throws {AppError} as the server refuses. */
export async function listAll<S extends z.ZodType>(
  http: HttpClient,
  list: {
    readonly path: string
    readonly item: S
    readonly query?: Readonly<Record<string, string | undefined>>
  },
): Promise<FromServer<z.output<S>>[]> {
  const pageSchema = pageOf(list.item)
  const items: FromServer<z.output<S>>[] = []
  let after: string | undefined
  do {
    const query = { ...list.query, limit: PAGE_ITEMS, after }
    const page = await http.json({ method: 'GET', path: list.path, query }, pageSchema)
    items.push(...page.items)
    after = page.next ?? undefined
  } while (after !== undefined)
  return items
}

/** Deletes what is at the path. @throws {AppError} as the server refuses. */
export async function remove(http: HttpClient, path: string): Promise<void> {
  const { body } = await http.open({ method: 'DELETE', path })
  for await (const _ of body);
}

export const createProject = (
  http: HttpClient,
  body: { readonly slug: string; readonly stages?: readonly string[] },
): Promise<Project> => http.json({ method: 'POST', path: '/projects', ...jsonBody(body) }, projectSchema)

export const listProjects = (http: HttpClient): Promise<Project[]> =>
  listAll(http, { path: '/projects', item: projectSchema })

export const getProject = (http: HttpClient, slug: string): Promise<Project> =>
  http.json({ method: 'GET', path: encodedPath`/projects/${slug}` }, projectSchema)

export const deleteProject = (http: HttpClient, slug: string): Promise<void> =>
  remove(http, encodedPath`/projects/${slug}`)

export const createStage = (http: HttpClient, project: string, slug: string): Promise<Stage> =>
  http.json({ method: 'POST', path: encodedPath`/projects/${project}/stages`, ...jsonBody({ slug }) }, stageSchema)

/** The server gives all of a project's stages at once. */
export const listStages = async (http: HttpClient, project: string): Promise<readonly Stage[]> => {
  const call = { method: 'GET', path: encodedPath`/projects/${project}/stages` } as const
  return (await http.json(call, pageOf(stageSchema))).items
}

export const deleteStage = (http: HttpClient, project: string, slug: string): Promise<void> =>
  remove(http, encodedPath`/projects/${project}/stages/${slug}`)

/** The server gives all of a project's roles at once. */
export const listRoles = async (http: HttpClient, project: string): Promise<readonly Role[]> => {
  const call = { method: 'GET', path: encodedPath`/projects/${project}/roles` } as const
  return (await http.json(call, pageOf(roleSchema))).items
}

export const setRole = (http: HttpClient, project: string, { name, ...body }: Role): Promise<Role> =>
  http.json({ method: 'PUT', path: encodedPath`/projects/${project}/roles/${name}`, ...jsonBody(body) }, roleSchema)

export const deleteRole = (http: HttpClient, project: string, name: string): Promise<void> =>
  remove(http, encodedPath`/projects/${project}/roles/${name}`)

export const createToken = (
  http: HttpClient,
  body: { readonly name: string; readonly memberships: readonly Membership[]; readonly expiresAt?: string },
): Promise<NewToken> => http.json({ method: 'POST', path: '/tokens', ...jsonBody(body) }, createdTokenSchema)

export const listTokens = (http: HttpClient, project: string | undefined): Promise<Token[]> =>
  listAll(http, { path: '/tokens', item: tokenSchema, query: { project } })

export const getToken = (http: HttpClient, id: string): Promise<Token> =>
  http.json({ method: 'GET', path: encodedPath`/tokens/${id}` }, tokenSchema)

export const revokeToken = (http: HttpClient, id: string): Promise<void> => remove(http, encodedPath`/tokens/${id}`)

export const applySchema = (
  http: HttpClient,
  { project, stage, script }: { readonly project: string; readonly stage: string; readonly script: Buffer },
): Promise<SchemaChange> =>
  http.json(
    {
      method: 'POST',
      path: encodedPath`/projects/${project}/stages/${stage}/schema`,
      headers: { 'content-type': 'application/sql' },
      body: script,
    },
    schemaChangeSchema,
  )

export const undoImport = (
  http: HttpClient,
  { project, stage, force }: { readonly project: string; readonly stage: string; readonly force: boolean },
): Promise<Undone> =>
  http.json(
    {
      method: 'POST',
      path: encodedPath`/projects/${project}/stages/${stage}/undo`,
      query: { force: force ? 'true' : undefined },
    },
    undone,
  )
