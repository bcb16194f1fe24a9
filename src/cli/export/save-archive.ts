import { AppError, isAppError } from '../../errors.ts'
import { type Coding, FILE_ENDINGS } from '../../lib/coding.ts'
import type { CommandContext } from '../environment.ts'
import { createTransferProgress, progressLine, showProgress } from '../terminal/progress.ts'
import type { ReportOptions } from '../terminal/result.ts'
import { openSink } from './archive-sink.ts'
import type { Copied } from './export-report.ts'
import { assertUsableOutput } from './output-path.ts'
import type { ArchiveSummary } from './read-through.ts'
import type { Receiving } from './receive-archive.ts'

interface SavingOptions extends ReportOptions {
  readonly output?: string
  readonly allowIncomplete?: boolean
}

/**
 * Which file the archive of a project becomes.
 *
 * @throws {AppError} WRONG_USE where it cannot.
 */
export async function outputOf(
  { environment: { stdout } }: CommandContext,
  project: string,
  { output }: Pick<SavingOptions, 'output'>,
  coding: Coding | undefined,
): Promise<string> {
  const file = output ?? `${project}.jsonl${coding ? FILE_ENDINGS[coding] : ''}`
  await assertUsableOutput(file, stdout)
  return file
}

/**
 * Saves the archive of a project, and shows how far it is.
 *
 * @param file as `outputOf` has it.
 * @param download writes the archive as it comes.
 */
export async function saveArchive(
  context: CommandContext,
  { project, file }: { readonly project: string; readonly file: string },
  { quiet, allowIncomplete }: SavingOptions,
  download: (receiving: Receiving) => Promise<ArchiveSummary>,
): Promise<Copied & { readonly project: string; readonly file: string }> {
  const { signal } = context
  const startedAt = performance.now()
  const progress = createTransferProgress()
  const sink = () => openSink(file, context.environment.stdout)
  const summary = await showProgress(context, { quiet, line: (seconds) => progressLine(progress, seconds) }, () =>
    download({ openSink: sink, progress, signal, allowIncomplete }),
  ).catch((error: unknown) => {
    throw isAppError(error, 'ARCHIVE_INVALID') ? arrivedDamaged(error) : error
  })
  return { project, file, ...summary, bytes: progress.bytes, seconds: (performance.now() - startedAt) / 1000 }
}

const arrivedDamaged = (cause: AppError): AppError =>
  new AppError('ARCHIVE_INVALID', `the archive did not arrive whole and was not kept: ${cause.message}`, { cause })
