import { type ArchiveSummary, verifyArchive } from '../archive/verify-archive.ts'
import { allComplete, COMPLETENESS_TEXT, completenessOf, missingOf, type Stated } from '../contract/completeness.ts'
import { copyText } from '../copy/copy-encoders.ts'
import { AppError, isAppError } from '../errors.ts'
import { tap } from '../lib/tap.ts'
import { formatBytes, formatCount, formatCounted } from '../lib/units.ts'
import { type ArchiveInput, withArchiveInput } from './archive-input.ts'
import { GENEROUS_LIMITS } from './archive-limits.ts'
import type { CommandContext } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { warnOfMissing } from './missing-text.ts'
import { printable } from './terminal/printable.ts'
import { type FileProgress, fileProgressLine, showProgress } from './terminal/progress.ts'
import { printResult, type ReportOptions } from './terminal/result.ts'
import { formatFields, formatTable } from './terminal/table.ts'

interface VerifyOptions extends ReportOptions {
  readonly allowEdited?: boolean
  readonly allowIncomplete?: boolean
}

/** `data:verify` */
export const runVerify = (context: CommandContext, file: string, options: VerifyOptions): Promise<number> =>
  withArchiveInput(context, file, async (input) => {
    const summary = await readThrough(context, input, options)
    const stated = statedBy(summary)
    await warnOfMissing(context, 'the archive', stated)
    const done = await printResult(context, options, {
      json: { file: input.name, complete: stated.complete, ...summary },
      text: (style) => formatSummary(input.name, summary, style),
    })
    return completenessOf(stated) === 'rows missing' && !options.allowIncomplete ? EXIT.incomplete : done
  })

/** @throws {AppError} ARCHIVE_INVALID, naming the file and its first fault. */
function readThrough(
  context: CommandContext,
  { name, sizeBytes, read }: ArchiveInput,
  { allowEdited = false, quiet }: VerifyOptions,
): Promise<ArchiveSummary> {
  const progress: FileProgress = { bytes: 0, bytesTotal: sizeBytes, waitingFor: undefined }
  const counted = tap(read(), ({ length }) => {
    progress.bytes += length
  })
  const options = { ...GENEROUS_LIMITS, allowEdited, signal: context.signal }
  return showProgress(context, { quiet, line: (seconds) => fileProgressLine(progress, seconds) }, () =>
    verifyArchive(counted, copyText, options),
  ).catch((error: unknown) => {
    throw isAppError(error, 'ARCHIVE_INVALID') ? unsound(name, error) : error
  })
}

/** What an archive says of all its stages. */
function statedBy({ projects }: ArchiveSummary): Stated & { readonly complete: boolean | null } {
  const stages = projects.flatMap((project) => project.stages)
  return {
    complete: allComplete(stages.map(({ complete }) => complete)),
    notExported: missingOf(projects),
  }
}

function formatSummary(name: string, summary: ArchiveSummary, style: { readonly colors: boolean }): string {
  const { version, generator, snapshotAt, bytes, lines, rows, projects } = summary
  const completeness = completenessOf(statedBy(summary))
  const fields = formatFields([
    ['format', `version ${version}, written by ${generator}`],
    ['moment', snapshotAt],
    ['size', `${formatBytes(bytes)}, ${formatCounted(lines, 'line')}`],
    ['rows', formatCount(rows)],
    ...projects.map((project) => [`project ${project.slug}`, describeProject(project)] as const),
  ])
  const cells = projects.flatMap(({ slug, stages }) =>
    stages.flatMap((stage) => stage.tables.map((table) => [slug, stage.slug, table.name, formatCount(table.rows)])),
  )
  const verdict = `the rows, roles and events in ${printable(name)} are as they were written; it ${COMPLETENESS_TEXT[completeness]}`
  return `${verdict}\n${fields}\n\n${formatTable(['project', 'stage', 'table', 'rows'], cells, style)}`
}

function describeProject({ targetSlug, system, roles, events, stages }: ArchiveSummary['projects'][number]): string {
  const extensions = stages.flatMap((stage) => stage.extensions.map(({ name, version }) => `${name} ${version}`))
  const needed = [...new Set(extensions)]
  const parts = [
    `stages: ${stages.map(({ slug }) => slug).join(', ') || 'none'}`,
    ...(targetSlug === undefined ? [] : [`goes to ${targetSlug}`]),
    ...(needed.length === 0 ? [] : [`needs extensions: ${needed.join(', ')}`]),
    ...(system ? [`system: ${formatCounted(roles, 'role')}, ${formatCounted(events, 'event')}`] : []),
  ]
  return parts.join('; ')
}

const unsound = (name: string, cause: AppError): AppError =>
  new AppError('ARCHIVE_INVALID', `${name}: ${cause.message}`, { cause, faults: cause.faults })
