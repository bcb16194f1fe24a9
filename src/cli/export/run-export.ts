import { AppError, isAppError, wrongUse } from '../../errors.ts'
import type { CommandContext } from '../environment.ts'
import type { HttpClient } from '../http.ts'
import { withProject } from '../server.ts'
import { createTransferProgress, progressLine, showProgress } from '../terminal/progress.ts'
import type { ReportOptions } from '../terminal/result.ts'
import { openSink } from './archive-sink.ts'
import { downloadArchive } from './download-archive.ts'
import { formatCopied, reportExport } from './export-report.ts'
import { type SelectionOptions, toSelection } from './export-selection.ts'
import { assertUsableOutput } from './output-path.ts'
import { runAsyncExport } from './run-async-export.ts'

interface ExportOptions extends ReportOptions, SelectionOptions {
  readonly gzip: boolean
  readonly output?: string
  /** As a job of the server's, and then downloaded. */
  readonly async?: boolean
}

/** `data:export` */
export async function runExport(
  context: CommandContext,
  source: string | undefined,
  options: ExportOptions,
): Promise<number> {
  if (options.async && !options.gzip)
    throw wrongUse('an archive that a job makes is always compressed: leave --no-gzip out')
  if (options.output !== undefined) await assertUsableOutput(options.output, context.environment.stdout)
  if (options.async) return runAsyncExport(context, source, options)
  const exported = await withProject(context, source, ({ http }, project) =>
    exportProject(context, http, project, options),
  )
  return reportExport(context, exported, formatCopied(exported), options)
}

async function exportProject(context: CommandContext, http: HttpClient, project: string, options: ExportOptions) {
  const { gzip, quiet, allowIncomplete } = options
  const { signal } = context
  const file = options.output ?? `${project}.jsonl${gzip ? '.gz' : ''}`
  const { stdout } = context.environment
  await assertUsableOutput(file, stdout)

  const startedAt = performance.now()
  const progress = createTransferProgress()
  const selection = { slug: project, ...toSelection(options) }
  const sink = () => openSink(file, stdout)
  const summary = await showProgress(context, { quiet, line: (seconds) => progressLine(progress, seconds) }, () =>
    downloadArchive({ http, selection, gzip, openSink: sink, progress, signal, allowIncomplete }),
  ).catch((error: unknown) => {
    throw isAppError(error, 'ARCHIVE_INVALID') ? arrivedDamaged(error) : error
  })
  return { project, file, ...summary, bytes: progress.bytes, seconds: (performance.now() - startedAt) / 1000 }
}

const arrivedDamaged = (cause: AppError): AppError =>
  new AppError('ARCHIVE_INVALID', `the archive did not arrive whole and was not kept: ${cause.message}`, { cause })
