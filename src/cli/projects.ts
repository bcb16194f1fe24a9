import type { z } from 'zod'
import type { FromServer } from '../contract/from-server.ts'
import { type eventLogSchema, projectSchema } from '../contract/project.ts'
import { roleSchema } from '../contract/role.ts'
import { wrongUse } from '../errors.ts'
import { formatCounted } from '../lib/units.ts'
import { lookAtDatabase } from './attach/attachment-report.ts'
import type { CommandContext } from './environment.ts'
import { type Forgetting, forgetting } from './forgetting.ts'
import { encodedPath } from './http.ts'
import { permissionCells, ROLE_HEADINGS } from './permission-list.ts'
import { onServer, type ServerOptions } from './server.ts'
import { get, getAll, listAll, remove, send } from './server-api.ts'
import { assertCanConfirm, type Confirmation } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { onceConfirmed, printResult } from './terminal/result.ts'
import { formatFields, formatTable } from './terminal/table.ts'

/** `project:create` */
export async function runProjectCreate(
  context: CommandContext,
  slug: string,
  options: ServerOptions & { readonly stage?: readonly string[]; readonly ownDatabase?: boolean },
): Promise<number> {
  const { stage: stages, ownDatabase } = options
  const call = { method: 'POST', path: '/projects', body: { slug, stages, ownDatabase } } as const
  const project = await onServer(context, options, ({ http }) => send(http, call, projectSchema))
  return printResult(context, options, {
    json: project,
    text: () => {
      const where = project.ownDatabase ? ' in a database of its own' : ''
      return `created project ${printable(project.slug)}${where}, stages: ${slugsOf(project.stages)}`
    },
  })
}

/** `project:list` */
export async function runProjectList(context: CommandContext, options: ServerOptions): Promise<number> {
  const projects = await onServer(context, options, ({ http }) =>
    listAll(http, { path: '/projects', item: projectSchema }),
  )
  return printResult(context, options, {
    json: { projects },
    text: (style) => {
      if (projects.length === 0) return 'there are no projects'
      const isAnyAttached = projects.some(({ attached }) => attached)
      const rows = projects.map(({ slug, stages, createdAt, attached }) => [
        ...[slug, slugsOf(stages), createdAt],
        ...(isAnyAttached ? [attached ? 'yes' : 'no'] : []),
      ])
      return formatTable(['project', 'stages', 'created', ...(isAnyAttached ? ['attached'] : [])], rows, style)
    },
  })
}

/** `project:show` */
export async function runProjectShow(context: CommandContext, slug: string, options: ServerOptions): Promise<number> {
  const path = encodedPath`/projects/${slug}`
  const { project, roles, found } = await onServer(context, options, async ({ http }) => {
    const project = await get(http, path, projectSchema)
    const roles = await getAll(http, `${path}/roles`, roleSchema)
    return { project, roles, found: project.attached ? await lookAtDatabase(http, path) : undefined }
  })
  return printResult(context, options, {
    json: { ...project, ...found?.json, roles },
    text: (style) => {
      const fields = formatFields([
        ['created', project.createdAt],
        ['stages', slugsOf(project.stages)],
        ...(project.ownDatabase ? ([['database', 'its own']] as const) : []),
        ...(project.eventLog.keepDays === null && project.eventLog.keepEvents === null
          ? []
          : keptFields(project.eventLog)),
        ...(found?.fields ?? []),
      ])
      const sections = [`${printable(project.slug)}\n${fields}`, ...(found?.sections(style) ?? [])]
      return [...sections, formatTable(ROLE_HEADINGS, roles.map(permissionCells), style)].join('\n\n')
    },
  })
}

/** `project:log` */
export async function runProjectLog(
  context: CommandContext,
  slug: string,
  options: ServerOptions & { readonly keepDays?: string; readonly keepEvents?: string },
): Promise<number> {
  const eventLog = {
    keepDays: toKept('--keep-days', options.keepDays),
    keepEvents: toKept('--keep-events', options.keepEvents),
  }
  if (eventLog.keepDays === undefined && eventLog.keepEvents === undefined) {
    throw wrongUse('say what to keep: --keep-days <number>, --keep-events <number>, or both')
  }
  const call = { method: 'PATCH', path: encodedPath`/projects/${slug}`, body: { eventLog } } as const
  const project = await onServer(context, options, ({ http }) => send(http, call, projectSchema))
  return printResult(context, options, {
    json: project,
    text: () => `${printable(project.slug)}\n${formatFields(keptFields(project.eventLog))}`,
  })
}

/** @throws {AppError} WRONG_USE */
function toKept(option: string, text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined
  if (text === 'default') return null
  if (/^\d{1,10}$/.test(text)) return Number(text)
  throw wrongUse(`${option} must be a whole number, or "default"`)
}

type EventLog = FromServer<z.output<typeof eventLogSchema>>

function keptFields({ keepDays, keepEvents }: EventLog): readonly (readonly [string, string])[] {
  const text = (count: number | null, noun: string, all: string): string => {
    if (count === null) return 'as the server is configured'
    return count === 0 ? all : formatCounted(count, noun)
  }
  return [
    ['events kept', text(keepDays, 'day', 'for ever')],
    ['events per stage', text(keepEvents, 'event', 'any number')],
  ]
}

/** `project:delete` */
export async function runProjectDelete(
  context: CommandContext,
  slug: string,
  options: ServerOptions & Confirmation & Forgetting,
): Promise<number> {
  assertCanConfirm(context, options)
  return onServer(context, options, async ({ http, location }) => {
    const path = encodedPath`/projects/${slug}`
    const { stages } = await get(http, path, projectSchema)
    const consequence = `this deletes project ${printable(slug)}${location} for good: its stages (${slugsOf(stages)}) with all tables and rows, its roles, its event log`
    return onceConfirmed(context, consequence, options, async () => {
      await remove(http, `${path}${forgetting(options)}`)
      return {
        json: { deleted: { project: slug, stages: stages.map((stage) => stage.slug) } },
        text: () => `deleted project ${printable(slug)}`,
      }
    })
  })
}

const slugsOf = (stages: readonly { readonly slug: string }[]): string =>
  stages.map(({ slug }) => printable(slug)).join(', ') || 'none'
