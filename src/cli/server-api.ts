import { z } from 'zod'
import { encodedPath, type HttpClient, jsonBody } from './http.ts'

/** Unknown fields are left out, so that a server may be newer. */
const stageSchema = z.object({ slug: z.string(), createdAt: z.string() })
const projectSchema = z.object({ slug: z.string(), createdAt: z.string(), stages: z.array(stageSchema) })

const contentSchema = z.object({
  read: z.boolean(),
  write: z.boolean(),
  export: z.boolean(),
  import: z.boolean(),
  /** Servers of earlier versions do not know it. */
  structure: z.boolean().default(false),
})
const systemSchema = z.object({ export: z.boolean(), import: z.boolean() })
const roleSchema = z.object({ name: z.string(), content: contentSchema, system: systemSchema })

const membershipSchema = z.object({ project: z.string(), role: z.string() })
const tokenSchema = z.object({
  id: z.string(),
  name: z.string(),
  memberships: z.array(membershipSchema),
  createdAt: z.string(),
  expiresAt: z.string().nullable(),
  revokedAt: z.string().nullable(),
})
const newTokenSchema = tokenSchema.extend({ token: z.string() })

const schemaChangeSchema = z.object({ id: z.string(), stage: z.string(), tables: z.int() })

const undoneSchema = z.object({
  replacedAt: z.string(),
  tables: z.array(z.object({ name: z.string(), rows: z.int() })),
})

export type Stage = z.infer<typeof stageSchema>
export type Project = z.infer<typeof projectSchema>
export type Role = z.infer<typeof roleSchema>
export type Permissions = Omit<Role, 'name'>
export type Membership = z.infer<typeof membershipSchema>
export type Token = z.infer<typeof tokenSchema>
export type NewToken = z.infer<typeof newTokenSchema>
export type SchemaChange = z.infer<typeof schemaChangeSchema>
export type Undone = z.infer<typeof undoneSchema>

const PAGE_ITEMS = '200'

/** Reads a list to its end, page after page. @throws {AppError} as the server refuses. */
export async function listAll<T>(
  http: HttpClient,
  list: {
    readonly path: string
    readonly item: z.ZodType<T>
    readonly query?: Readonly<Record<string, string | undefined>>
  },
): Promise<T[]> {
  const pageSchema = z.object({ items: z.array(list.item), next: z.string().nullable() })
  const items: T[] = []
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
export const listStages = async (http: HttpClient, project: string): Promise<Stage[]> => {
  const pageSchema = z.object({ items: z.array(stageSchema) })
  return (await http.json({ method: 'GET', path: encodedPath`/projects/${project}/stages` }, pageSchema)).items
}

export const deleteStage = (http: HttpClient, project: string, slug: string): Promise<void> =>
  remove(http, encodedPath`/projects/${project}/stages/${slug}`)

/** The server gives all of a project's roles at once. */
export const listRoles = async (http: HttpClient, project: string): Promise<Role[]> => {
  const pageSchema = z.object({ items: z.array(roleSchema) })
  return (await http.json({ method: 'GET', path: encodedPath`/projects/${project}/roles` }, pageSchema)).items
}

export const setRole = (http: HttpClient, project: string, { name, ...body }: Role): Promise<Role> =>
  http.json({ method: 'PUT', path: encodedPath`/projects/${project}/roles/${name}`, ...jsonBody(body) }, roleSchema)

export const deleteRole = (http: HttpClient, project: string, name: string): Promise<void> =>
  remove(http, encodedPath`/projects/${project}/roles/${name}`)

export const createToken = (
  http: HttpClient,
  body: { readonly name: string; readonly memberships: readonly Membership[]; readonly expiresAt?: string },
): Promise<NewToken> => http.json({ method: 'POST', path: '/tokens', ...jsonBody(body) }, newTokenSchema)

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
    undoneSchema,
  )
