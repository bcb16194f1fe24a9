import { wrongUse } from '../errors.ts'
import { parseServerTarget } from '../transfer/remote/target.ts'
import type { CommandContext } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { parsePermissions, permissionCells, ROLE_HEADINGS } from './permission-list.ts'
import { projectOf, withServer } from './server.ts'
import { deleteRole, listRoles, setRole } from './server-api.ts'
import { assertCanConfirm, type Confirmation, confirm } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { printResult, type ResultOptions } from './terminal/result.ts'
import { formatTable } from './terminal/table.ts'

export interface RoleOptions extends ResultOptions {
  readonly project?: string
  readonly server?: string
}

export interface RoleSetOptions extends RoleOptions {
  readonly content?: string
  readonly system?: string
}

export interface RoleDeleteOptions extends RoleOptions, Confirmation {}

/** `role:list` */
export async function runRoleList(
  context: CommandContext,
  { project, server, ...options }: RoleOptions,
): Promise<number> {
  const roles = await withServer(context, parseServerTarget(server), (opened) =>
    listRoles(opened.http, projectOf(project, opened)),
  )
  await printResult(context.environment, options, {
    json: { roles },
    text: (style) => formatTable(ROLE_HEADINGS, roles.map(permissionCells), style),
  })
  return EXIT.done
}

/** `role:set` */
export async function runRoleSet(
  context: CommandContext,
  name: string,
  { content, system, project, server, ...options }: RoleSetOptions,
): Promise<number> {
  if (content === undefined && system === undefined) {
    throw wrongUse('say what the role may do, with --content and --system; --content "" for nothing')
  }
  const permissions = parsePermissions({ content: content ?? '', system: system ?? '' })
  const role = await withServer(context, parseServerTarget(server), (opened) =>
    setRole(opened.http, projectOf(project, opened), { name, ...permissions }),
  )
  await printResult(context.environment, options, {
    json: role,
    text: (style) => formatTable(ROLE_HEADINGS, [permissionCells(role)], style),
  })
  return EXIT.done
}

/** `role:delete` */
export async function runRoleDelete(
  context: CommandContext,
  name: string,
  { project: option, server, ...options }: RoleDeleteOptions,
): Promise<number> {
  assertCanConfirm(context, options)
  return withServer(context, parseServerTarget(server), async (opened) => {
    const project = projectOf(option, opened)
    const consequence = `this deletes role ${printable(name)} of project ${project}${opened.place}`
    if (!(await confirm(context, consequence, options))) return EXIT.failed
    await deleteRole(opened.http, project, name)
    await printResult(context.environment, options, {
      json: { deleted: { project, role: name } },
      text: () => `deleted role ${printable(name)} of project ${project}`,
    })
    return EXIT.done
  })
}
