import { AppError, isAppError, wrongUse } from '../../errors.ts'
import { parseProjectTarget } from '../../transfer/remote/target.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { projectOf, type Server, withServer } from '../server.ts'
import { progressLine, showProgress, type TransferProgress } from '../terminal/progress.ts'
import { type ArchiveSink, createStreamSink, openFileSink } from './archive-sink.ts'
import { downloadArchive } from './download-archive.ts'
import { type Export, type ExportReportOptions, reportExport } from './export-report.ts'
import { type SelectionOptions, toSelection } from './export-selection.ts'
import { assertUsableOutput, STDOUT } from './output-path.ts'
import { runAsyncExport } from './run-async-export.ts'

export interface ExportOptions extends ExportReportOptions, SelectionOptions {
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
  const target = parseProjectTarget(source)
  if (options.async && !options.gzip)
    throw wrongUse('an archive that a job makes is always compressed: leave --no-gzip out')
  if (options.output !== undefined) await assertUsableOutput(options.output, context.environment.stdout)
  if (options.async) return runAsyncExport(context, target, options)
  const exported = await withServer(context, target, (server) => exportProject(context, server, options))
  await reportExport(context, exported, options)
  return EXIT.done
}

async function exportProject(context: CommandContext, server: Server, options: ExportOptions): Promise<Export> {
  const project = projectOf(undefined, server)
  const file = options.output ?? `${project}.jsonl${options.gzip ? '.gz' : ''}`
  const { stdout, stderr } = context.environment
  await assertUsableOutput(file, stdout)
  const openSink = async (): Promise<ArchiveSink> => (file === STDOUT ? createStreamSink(stdout) : openFileSink(file))

  const startedAt = performance.now()
  const progress: TransferProgress = { table: '', rows: 0, bytes: 0, rowsExpected: undefined }
  const line = (seconds: number): string => progressLine(progress, seconds)
  const stopProgress = showProgress(line, { stderr, quiet: options.quiet ?? false })
  try {
    const download = { http: server.http, gzip: options.gzip, openSink, progress, signal: context.signal }
    const summary = await downloadArchive({ ...download, selection: toSelection(project, options) })
    return { project, file, ...summary, bytes: progress.bytes, seconds: (performance.now() - startedAt) / 1000 }
  } catch (error) {
    throw isAppError(error, 'ARCHIVE_INVALID') ? arrivedDamaged(error) : error
  } finally {
    stopProgress()
  }
}

const arrivedDamaged = (cause: AppError): AppError =>
  new AppError('ARCHIVE_INVALID', `the archive did not arrive whole and was not kept: ${cause.message}`, { cause })
