import { undoneSchema } from '../contract/project.ts'
import { AppError } from '../errors.ts'
import { formatCount } from '../lib/units.ts'
import type { CommandContext } from './environment.ts'
import { encodedPath } from './http.ts'
import { RemoteProblem } from './remote-problem.ts'
import { withProject } from './server.ts'
import { remove } from './server-api.ts'
import { assertCanConfirm, type Confirmation } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { onceConfirmed, type Result, type ResultOptions } from './terminal/result.ts'
import { formatTable } from './terminal/table.ts'

interface UndoOptions extends ResultOptions, Confirmation {
  readonly stage: string
  readonly force?: boolean
  readonly discard?: boolean
}

const undone = undoneSchema.omit({ ok: true })

/** The type of the problem that `--force` overrules. */
const WRITTEN_SINCE = 'urn:wharf:error:written-since'

/** `data:undo` */
export async function runUndo(
  context: CommandContext,
  target: string | undefined,
  options: UndoOptions,
): Promise<number> {
  assertCanConfirm(context, options)
  return withProject(context, target, async ({ http, location }, project) => {
    const { stage, force = false, yes = false, discard = false } = options
    const name = `${project}/${printable(stage)}`
    const path = encodedPath`/projects/${project}/stages/${stage}/undo`
    if (discard) {
      const dropped = `this drops what the last import or transfer into ${name}${location} replaced, for good: it cannot be put back then`
      return onceConfirmed(context, dropped, options, async () => {
        await remove(http, path)
        return {
          json: { project, stage, discarded: true },
          text: () => `nothing is kept of what was replaced in ${name}`,
        }
      })
    }
    const consequence = `this puts back what the last import or transfer into ${name}${location} replaced, in place of all that is there now`
    const undo = async (force: boolean): Promise<Result> => {
      const query = { force: force ? 'true' : undefined }
      const { replacedAt, tables } = await http.json({ method: 'POST', path, query }, undone)
      return {
        json: { project, stage, replacedAt, tables },
        text: (style) => {
          const cells = tables.map(({ name, rows }) => [name, formatCount(rows)])
          return `${name} is back as it was until ${printable(replacedAt)}\n${formatTable(['table', 'rows'], cells, style)}`
        },
      }
    }
    try {
      return await onceConfirmed(context, consequence, options, () => undo(force))
    } catch (error) {
      if (!(error instanceof RemoteProblem) || error.type !== WRITTEN_SINCE) throw error
      // `--yes` does not answer this question.
      if (yes) throw new AppError(error.code, `${error.message} (--force)`, { cause: error })
      return onceConfirmed(context, printable(error.message), { ...options, yes: false }, () => undo(true))
    }
  })
}
