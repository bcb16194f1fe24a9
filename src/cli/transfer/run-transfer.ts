import { assertRowsThere } from '../../archive/assert-rows.ts'
import { projectSchema } from '../../contract/project.ts'
import { AppError, isAppError, wrongUse } from '../../errors.ts'
import { parseProjectTarget } from '../../transfer/remote/target.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { downloadArchive } from '../export/download-archive.ts'
import { examineExport } from '../export/examine-export.ts'
import { type SelectionOptions, toSelection } from '../export/export-selection.ts'
import { encodedPath } from '../http.ts'
import { type ImportedProject, importArchive } from '../import/import-call.ts'
import { missingLines } from '../missing-text.ts'
import { withServer } from '../server.ts'
import { get } from '../server-api.ts'
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
import { type Endpoint, isSameAccess, isSameProject, nameOf, toEndpoint } from './endpoint.ts'
import { transferAsJob } from './transfer-as-job.ts'
import { leftOutOf, reportTransfer, type Transfer } from './transfer-report.ts'

import { openUploadSink } from './upload-sink.ts'

interface TransferOptions extends SelectionOptions, Confirmation, ReportOptions {}

/** `data:transfer` */
export async function runTransfer(
  context: CommandContext,
  sourceAddress: string,
  targetAddress: string,
  options: TransferOptions,
): Promise<number> {
  const source = parseProjectTarget(sourceAddress)
  const target = parseProjectTarget(targetAddress)
  if (source.kind === 'local' && target.kind === 'local') throw sameProject()
  assertCanConfirm(context, options)
  return withServer(context, source, (sourceServer) =>
    withServer(context, target, async (targetServer) => {
      const [from, to] = [toEndpoint(sourceServer), toEndpoint(targetServer)]
      if (isSameProject(from, to)) throw sameProject()
      const warning = await replacementWarning(from, to, options)
      // With --yes there is nobody to tell: the export refuses what would be refused here, and the report names the rest.
      const missing = options.yes ? [] : await examineSource(from, options)
      if (!(await confirm(context, [warning, ...missing].join('\n'), options))) return EXIT.failed
      const move = isSameAccess(from, to) ? transferAsJob : transfer
      return reportTransfer(context, await move(context, from, to, options), options)
    }),
  )
}

/** Also finds out, before anything is sent, whether both projects are there. */
async function replacementWarning(from: Endpoint, to: Endpoint, options: TransferOptions): Promise<string> {
  const stages = options.stage?.map(printable) ?? (await stagesOf('source', from))
  const there = await stagesOf('target', to)
  const roles = options.includeSystem ? ', and its roles' : ''
  return [
    `this replaces all rows in ${nameOf(to)}, stages ${stages.join(', ') || 'none'}${roles}, with those of ${nameOf(from)}`,
    `the target has the stages ${there.join(', ') || 'none'}`,
  ].join('\n')
}

/** What the target will lack, in words. @throws {AppError} INCOMPLETE where rows would be missing, and that is not allowed. */
async function examineSource({ server, project }: Endpoint, options: TransferOptions): Promise<readonly string[]> {
  try {
    const found = await examineExport(server.http, { slug: project, ...toSelection(options) })
    assertRowsThere(found.notExported, options)
    return missingLines('the target', found)
  } catch (error) {
    throw failed('source', error)
  }
}

async function stagesOf(part: Role, { server, project }: Endpoint): Promise<readonly string[]> {
  try {
    const { stages } = await get(server.http, encodedPath`/projects/${project}`, projectSchema)
    return stages.map(({ slug }) => printable(slug))
  } catch (error) {
    throw failed(part, error)
  }
}

/** The archive goes from one server to the other as it comes, and is checked on the way. */
async function transfer(
  context: CommandContext,
  from: Endpoint,
  to: Endpoint,
  options: TransferOptions,
): Promise<Transfer> {
  const startedAt = performance.now()
  const progress = createTransferProgress()
  const upload: FileProgress = { bytes: 0, bytesTotal: undefined, waitingFor: undefined }
  let imported: readonly ImportedProject[] = []
  const send = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
    const { allowIncomplete } = options
    const call = { http: to.server.http, targetSlug: to.project, allowEdited: false, allowIncomplete, progress: upload }
    imported = (await importArchive({ ...call, bytes })).projects
  }

  const stopped = new AbortController()
  const line = (seconds: number): string =>
    upload.waitingFor === undefined ? progressLine(progress, seconds) : fileProgressLine(upload, seconds)
  try {
    const summary = await showProgress(context, { quiet: options.quiet, line }, () =>
      downloadArchive({
        http: from.server.http,
        selection: { slug: from.project, ...toSelection(options) },
        gzip: true,
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

const sameProject = (): AppError => wrongUse('source and target are the same project')
