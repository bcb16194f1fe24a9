import { stageSchema } from '../../contract/project.ts'
import type { CommandContext } from '../environment.ts'
import { encodedPath } from '../http.ts'
import { withProject } from '../server.ts'
import { send } from '../server-api.ts'
import { printable } from '../terminal/printable.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'

/** `stage:log` */
export const runStageLog = (
  context: CommandContext,
  slug: string,
  target: string | undefined,
  options: ResultOptions & { readonly off?: boolean },
): Promise<number> =>
  withProject(context, target, async ({ http }, project) => {
    const logEvents = options.off !== true
    const path = encodedPath`/projects/${project}/stages/${slug}`
    const stage = await send(http, { method: 'PATCH', path, body: { logEvents } }, stageSchema)
    return printResult(context, options, {
      json: { project, ...stage },
      text: () =>
        logEvents
          ? printable(
              `the event log of stage ${project}/${stage.slug} is kept in its database, in the schema wharf_log`,
            )
          : printable(
              `no event log of stage ${project}/${stage.slug} is kept any more; what was there of it is removed`,
            ),
    })
  })
