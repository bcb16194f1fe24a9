import { assertRowsThere } from '../../archive/assert-rows.ts'
import { AppError, isAppError, wrongUse } from '../../errors.ts'
import { parseProjectTarget } from '../../transfer/remote/target.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import type { SelectionOptions } from '../export/export-selection.ts'
import type { ImportedProject } from '../import/import-call.ts'
import { missingLines } from '../missing-text.ts'
import { assertCanConfirm, type Confirmation, confirm } from '../terminal/confirm.ts'
import { printable } from '../terminal/printable.ts'
import {
  createTransferProgress,
  type FileProgress,
  fileProgressLine,
  progressLine,
  showProgress,
} from '../terminal/progress.ts'
import type { ReportOptions } from '../terminal/result.ts'
import { isSameAccess, isSameProject } from './endpoint.ts'
import { chooseTarget, withTransferTarget } from './open-target.ts'
import { assertNotItself } from './same-database.ts'
import { transferAsJob } from './transfer-as-job.ts'
import { leftOutOf, reportTransfer, type Transfer } from './transfer-report.ts'
import { chooseSource, type TransferSource, withTransferSource } from './transfer-source.ts'
import type { TransferTarget } from './transfer-target.ts'
import { openUploadSink } from './upload-sink.ts'

interface TransferOptions extends SelectionOptions, Confirmation, ReportOptions {}

/** `data:transfer` */
export async function runTransfer(
  context: CommandContext,
  sourceAddress: string,
  targetAddress: string,
  options: TransferOptions,
): Promise<number> {
  const source = chooseSource(sourceAddress, parseProjectTarget)
  const target = chooseTarget(targetAddress)
  if (source.target?.kind === 'local' && target.target?.kind === 'local') throw sameProject()
  assertCanConfirm(context, options)
  return withTransferSource(context, source, options, (from) =>
    withTransferTarget(context, target, async (to) => {
      const { endpoint } = from
      if (endpoint && to.endpoint && isSameProject(endpoint, to.endpoint)) throw sameProject()
      // Between two servers, nobody is there who could tell.
      if (!endpoint || !to.endpoint) await assertNotItself(await from.location(), await to.location(), options.stage)
      const warning = await replacementWarning(from, to, options)
      // With --yes there is nobody to tell: the export refuses what would be refused here, and the report names the rest.
      const missing = options.yes ? [] : await examineSource(from, options)
      if (!(await confirm(context, [warning, ...missing].join('\n'), options))) return EXIT.failed
      const transferred =
        endpoint && to.endpoint && isSameAccess(endpoint, to.endpoint)
          ? await transferAsJob(context, endpoint, to.endpoint, options)
          : await transfer(context, from, to, options)
      return reportTransfer(context, transferred, options)
    }),
  )
}

/** Also finds out, before anything is sent, whether both projects are there. */
async function replacementWarning(from: TransferSource, to: TransferTarget, options: TransferOptions): Promise<string> {
  const stages = options.stage?.map(printable) ?? (await from.stages().catch(throwFailed('source')))
  const there = await to.stages().catch(throwFailed('target'))
  const roles = options.includeSystem ? ', and its roles' : ''
  return [
    `this replaces all rows in ${printable(to.name)}, stages ${stages.join(', ') || 'none'}${roles}, with those of ${printable(from.name)}`,
    `the target has the stages ${there.join(', ') || 'none'}`,
  ].join('\n')
}

/** What the target will lack, in words. @throws {AppError} INCOMPLETE where rows would be missing, and that is not allowed. */
async function examineSource(from: TransferSource, options: TransferOptions): Promise<readonly string[]> {
  try {
    const found = await from.examine()
    assertRowsThere(found.notExported, options)
    return missingLines('the target', found)
  } catch (error) {
    throw failed('source', error)
  }
}

/** The archive goes from the source to the target as it comes, and is checked on the way. */
async function transfer(
  context: CommandContext,
  from: TransferSource,
  to: TransferTarget,
  options: TransferOptions,
): Promise<Transfer> {
  const startedAt = performance.now()
  const progress = createTransferProgress()
  const upload: FileProgress = { bytes: 0, bytesTotal: undefined, waitingFor: undefined }
  let imported: readonly ImportedProject[] = []
  const send = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
    const { allowIncomplete } = options
    imported = await to.send(bytes, { allowIncomplete, progress: upload, signal: context.signal })
  }

  const stopped = new AbortController()
  const line = (seconds: number): string =>
    upload.waitingFor === undefined ? progressLine(progress, seconds) : fileProgressLine(upload, seconds)
  try {
    const summary = await showProgress(context, { quiet: options.quiet, line }, () =>
      from.download({
        allowIncomplete: options.allowIncomplete,
        openSink: async () => openUploadSink(send, stopped),
        progress,
        // A target that has refused ends the download, also while the source has nothing to say.
        signal: AbortSignal.any([context.signal, stopped.signal]),
      }),
    )
    const seconds = (performance.now() - startedAt) / 1000
    const rolesLeftOut = imported.flatMap((project) => project.rolesLeftOut)
    const leftOut = leftOutOf(imported)
    const ends = { source: from.project, target: to.project }
    return { ...ends, ...summary, rolesLeftOut, leftOut, bytes: progress.bytes, seconds }
  } catch (error) {
    throw stopped.signal.aborted ? failed('target', stopped.signal.reason) : failed('source', error)
  }
}

type Role = 'source' | 'target'

/** Says which of the two it was. A bug stays as it is. */
function failed(part: Role, error: unknown): unknown {
  if (!isAppError(error)) return error
  return new AppError(error.code, `${part}: ${error.message}`, { cause: error, faults: error.faults })
}

const throwFailed =
  (part: Role) =>
  (error: unknown): never => {
    throw failed(part, error)
  }

const sameProject = (): AppError => wrongUse('source and target are the same project')
