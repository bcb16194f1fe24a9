import { attachedServerSchema } from '../../contract/attached-server.ts'
import type { CommandContext } from '../environment.ts'
import { type Forgetting, forgetting } from '../forgetting.ts'
import { encodedPath } from '../http.ts'
import { onServer, type ServerOptions } from '../server.ts'
import { get, getAll, remove } from '../server-api.ts'
import type { Confirmation } from '../terminal/confirm.ts'
import { printable } from '../terminal/printable.ts'
import { onceConfirmed, printResult } from '../terminal/result.ts'
import { formatTable } from '../terminal/table.ts'
import { whatStays } from './what-stays.ts'

/** `project:servers` */
export async function runProjectServers(context: CommandContext, options: ServerOptions): Promise<number> {
  const servers = await onServer(context, options, ({ http }) =>
    getAll(http, '/attached-servers', attachedServerSchema),
  )
  return printResult(context, options, {
    json: { servers },
    text: (style) => {
      if (servers.length === 0) return 'there are no attached servers'
      const rows = servers.map(({ name, address, exclude, projects }) => [
        ...[name, address, exclude.join(',') || '-'],
        projects.map(({ project }) => project).join(', ') || 'none',
      ])
      return formatTable(['server', 'address', 'excluded', 'projects'], rows, style)
    },
  })
}

/** `project:detach --all` */
export function runDetachAll(
  context: CommandContext,
  name: string,
  options: ServerOptions & Confirmation & Forgetting,
): Promise<number> {
  return onServer(context, options, async ({ http, location }) => {
    const path = encodedPath`/attached-servers/${name}`
    const { projects } = await get(http, path, attachedServerSchema)
    const slugs = projects.map(({ project }) => project)
    const consequence = `this has the server ${printable(name)}${location} forgotten with its projects (${printable(slugs.join(', ')) || 'none'}): their stages, their roles, what tokens may do in them, and what data:undo could bring back; ${whatStays(options)}`
    return onceConfirmed(context, consequence, options, async () => {
      await remove(http, `${path}${forgetting(options)}`)
      return {
        json: { detached: { server: name, projects: slugs } },
        text: () => printable(`detached server ${name}, projects: ${slugs.join(', ') || 'none'}`),
      }
    })
  })
}
