import { AppError } from '../errors.ts'
import { parseProjectTarget } from '../transfer/remote/target.ts'
import type { CommandContext } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { RemoteRefusal } from './refusal.ts'
import { projectOf, type Server, withServer } from './server.ts'
import { type Undone, undoImport } from './server-api.ts'
import { assertCanConfirm, type Confirmation, confirm } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { printResult, type ResultOptions } from './terminal/result.ts'
import { formatTable } from './terminal/table.ts'
import { formatCount } from './terminal/units.ts'

export interface UndoOptions extends ResultOptions, Confirmation {
  readonly stage: string
  readonly force?: boolean
}

/** The refusal that can be overruled. */
const WRITTEN_SINCE = 'urn:wharf:error:written-since'

/** `data:undo` */
export async function runUndo(
  context: CommandContext,
  address: string | undefined,
  options: UndoOptions,
): Promise<number> {
  const target = parseProjectTarget(address)
  assertCanConfirm(context, options)
  return withServer(context, target, async (server) => {
    const project = projectOf(undefined, server)
    const { stage } = options
    const consequence = `this puts back what the last import or transfer into ${project}/${printable(stage)}${server.place} replaced, in the place of all that is there now`
    if (!(await confirm(context, consequence, options))) return EXIT.failed
    const undone = await undo(context, server, { ...options, project })
    if (!undone) return EXIT.failed
    await printResult(context.environment, options, {
      json: { project, stage, ...undone },
      text: (style) => {
        const cells = undone.tables.map(({ name, rows }) => [name, formatCount(rows)])
        const heading = `${project}/${printable(stage)} is back as it was until ${printable(undone.replacedAt)}`
        return `${heading}\n${formatTable(['table', 'rows'], cells, style)}`
      },
    })
    return EXIT.done
  })
}

/** @returns undefined where the stage was written to since, and these writes are not to be given up. */
async function undo(
  context: CommandContext,
  { http }: Server,
  { project, stage, force = false, yes = false }: UndoOptions & { readonly project: string },
): Promise<Undone | undefined> {
  try {
    return await undoImport(http, { project, stage, force })
  } catch (error) {
    if (!(error instanceof RemoteRefusal) || error.type !== WRITTEN_SINCE) throw error
    // `--yes` does not answer this question.
    if (yes) throw new AppError(error.code, `${error.message} (--force)`, { cause: error })
    if (!(await confirm(context, printable(error.message), {}))) return undefined
    return undoImport(http, { project, stage, force: true })
  }
}
