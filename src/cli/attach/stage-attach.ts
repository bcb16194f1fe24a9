import { stageSchema } from '../../contract/project.ts'
import type { CommandContext } from '../environment.ts'
import { encodedPath } from '../http.ts'
import { withProject } from '../server.ts'
import { send } from '../server-api.ts'
import { printable } from '../terminal/printable.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'

/** `stage:attach` */
export const runStageAttach = (
  context: CommandContext,
  slug: string,
  target: string | undefined,
  options: ResultOptions & { readonly schema: string; readonly logEvents?: boolean },
): Promise<number> =>
  withProject(context, target, async ({ http }, project) => {
    const body = { slug, schema: options.schema, ...(options.logEvents && { logEvents: true }) }
    const stage = await send(
      http,
      { method: 'POST', path: encodedPath`/projects/${project}/stages`, body },
      stageSchema,
    )
    return printResult(context, options, {
      json: { project, ...stage },
      text: () => printable(`attached schema ${options.schema} as stage ${project}/${stage.slug}`),
    })
  })
