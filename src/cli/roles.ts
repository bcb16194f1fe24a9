import type { z } from 'zod'
import { roleSchema } from '../contract/role.ts'
import { wrongUse } from '../errors.ts'
import type { CommandContext } from './environment.ts'
import { encodedPath } from './http.ts'
import { parsePermissions, permissionCells, ROLE_HEADINGS } from './permission-list.ts'
import { onServer, projectOf, type ServerOptions } from './server.ts'
import { getAll, remove, send } from './server-api.ts'
import { assertCanConfirm, type Confirmation } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { onceConfirmed, printResult } from './terminal/result.ts'
import { formatTable } from './terminal/table.ts'
import { print } from './terminal/write.ts'

interface RoleOptions extends ServerOptions {
  readonly project?: string
}

/** `role:list` */
export async function runRoleList(context: CommandContext, options: RoleOptions): Promise<number> {
  const roles = await onServer(context, options, (server) =>
    getAll(server.http, encodedPath`/projects/${projectOf(options.project, server)}/roles`, roleSchema),
  )
  return printResult(context, options, {
    json: { roles },
    text: (style) => formatTable(ROLE_HEADINGS, roles.map(permissionCells), style),
  })
}

/** `role:set` */
export async function runRoleSet(
  context: CommandContext,
  name: string,
  options: RoleOptions & { readonly content?: string; readonly system?: string },
): Promise<number> {
  const { content, system } = options
  if (content === undefined && system === undefined) {
    throw wrongUse('say what the role may do with --content and --system; --content "" for nothing')
  }
  const body = parsePermissions({ content: content ?? '', system: system ?? '' })
  const role = await onServer(context, options, (server) => {
    const path = encodedPath`/projects/${projectOf(options.project, server)}/roles/${name}`
    return send(server.http, { method: 'PUT', path, body }, roleSchema)
  })
  for (const note of uselessNotes(role)) await print(context.environment.stderr, note)
  return printResult(context, options, {
    json: role,
    text: (style) => formatTable(ROLE_HEADINGS, [permissionCells(role)], style),
  })
}

/** The roles and the event log come and go only with rows. */
const uselessNotes = ({ content, system }: Pick<z.output<typeof roleSchema>, 'content' | 'system'>): string[] =>
  (['export', 'import'] as const)
    .filter((what) => system[what] && !content[what])
    .map((what) => `warning: system.${what} allows nothing without content.${what}`)

/** `role:delete` */
export async function runRoleDelete(
  context: CommandContext,
  name: string,
  options: RoleOptions & Confirmation,
): Promise<number> {
  assertCanConfirm(context, options)
  return onServer(context, options, async (server) => {
    const project = projectOf(options.project, server)
    const consequence = `this deletes role ${printable(name)} of project ${project}${server.location}`
    return onceConfirmed(context, consequence, options, async () => {
      await remove(server.http, encodedPath`/projects/${project}/roles/${name}`)
      return {
        json: { deleted: { project, role: name } },
        text: () => `deleted role ${printable(name)} of project ${project}`,
      }
    })
  })
}
