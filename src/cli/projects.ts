import { parseServerTarget } from '../transfer/remote/target.ts'
import type { CommandContext } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { permissionCells, ROLE_HEADINGS } from './permission-list.ts'
import { withServer } from './server.ts'
import { createProject, deleteProject, getProject, listProjects, listRoles } from './server-api.ts'
import { assertCanConfirm, type Confirmation, confirm } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { printResult, type ResultOptions } from './terminal/result.ts'
import { formatFields, formatTable } from './terminal/table.ts'

export interface ProjectOptions extends ResultOptions {
  readonly server?: string
}

export interface ProjectCreateOptions extends ProjectOptions {
  readonly stage?: readonly string[]
}

export interface ProjectDeleteOptions extends ProjectOptions, Confirmation {}

/** `project:create` */
export async function runProjectCreate(
  context: CommandContext,
  slug: string,
  { stage: stages, server, ...options }: ProjectCreateOptions,
): Promise<number> {
  const project = await withServer(context, parseServerTarget(server), ({ http }) =>
    createProject(http, { slug, ...(stages && { stages }) }),
  )
  await printResult(context.environment, options, {
    json: project,
    text: () => `created project ${printable(project.slug)}, stages: ${slugsOf(project.stages)}`,
  })
  return EXIT.done
}

/** `project:list` */
export async function runProjectList(context: CommandContext, { server, ...options }: ProjectOptions): Promise<number> {
  const projects = await withServer(context, parseServerTarget(server), ({ http }) => listProjects(http))
  await printResult(context.environment, options, {
    json: { projects },
    text: (style) => {
      const rows = projects.map(({ slug, stages, createdAt }) => [slug, slugsOf(stages), createdAt])
      return rows.length === 0 ? 'there are no projects' : formatTable(['project', 'stages', 'created'], rows, style)
    },
  })
  return EXIT.done
}

/** `project:show` */
export async function runProjectShow(
  context: CommandContext,
  slug: string,
  { server, ...options }: ProjectOptions,
): Promise<number> {
  const { project, roles } = await withServer(context, parseServerTarget(server), async ({ http }) => ({
    project: await getProject(http, slug),
    roles: await listRoles(http, slug),
  }))
  await printResult(context.environment, options, {
    json: { ...project, roles },
    text: (style) => {
      const fields = formatFields([
        ['created', project.createdAt],
        ['stages', slugsOf(project.stages)],
      ])
      return `${printable(project.slug)}\n${fields}\n\n${formatTable(ROLE_HEADINGS, roles.map(permissionCells), style)}`
    },
  })
  return EXIT.done
}

/** `project:delete` */
export async function runProjectDelete(
  context: CommandContext,
  slug: string,
  { server, ...options }: ProjectDeleteOptions,
): Promise<number> {
  assertCanConfirm(context, options)
  return withServer(context, parseServerTarget(server), async ({ http, place }) => {
    const { stages } = await getProject(http, slug)
    const consequence = `this deletes project ${printable(slug)}${place} for good: its stages (${slugsOf(stages)}) with all tables and rows, its roles, its event log`
    if (!(await confirm(context, consequence, options))) return EXIT.failed
    await deleteProject(http, slug)
    await printResult(context.environment, options, {
      json: { deleted: { project: slug, stages: stages.map((stage) => stage.slug) } },
      text: () => `deleted project ${printable(slug)}`,
    })
    return EXIT.done
  })
}

const slugsOf = (stages: readonly { readonly slug: string }[]): string =>
  stages.map(({ slug }) => printable(slug)).join(', ') || 'none'
