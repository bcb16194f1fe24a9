import type { NotExported } from '../../contract/job.ts'
import type { CommandContext } from '../environment.ts'
import { printable } from '../terminal/printable.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'
import { formatFields } from '../terminal/table.ts'
import { formatBytes, formatCount, formatCounted, formatSeconds } from '../terminal/units.ts'
import { print } from '../terminal/write.ts'
import { STDOUT } from './output-path.ts'
import type { ArchiveSummary } from './read-through.ts'

/** A project's data that came through. */
export interface Copied extends ArchiveSummary {
  /** As they came, compressed or not. */
  readonly bytes: number
  readonly seconds: number
}

/** An export that is done; as it is, the JSON result. */
export interface Export extends Copied {
  readonly project: string
  readonly file: string
}

export interface ExportReportOptions extends ResultOptions {
  readonly quiet?: boolean
}

/**
 * Says what was exported, and warns of what could not be. The result goes to standard output, or to standard error
 * where the archive itself went to standard output.
 */
export async function reportExport(
  { environment }: CommandContext,
  exported: Export,
  options: ExportReportOptions,
): Promise<void> {
  const { stderr } = environment
  if (exported.notExported.length > 0) await print(stderr, notExportedWarning('the archive', exported.notExported))
  const isFile = exported.file !== STDOUT
  if (!isFile && options.quiet && !options.json) return
  await printResult(isFile ? environment : { ...environment, stdout: stderr }, options, {
    json: exported,
    text: () => formatExport(exported),
  })
}

function formatExport(exported: Export): string {
  const { project, file } = exported
  return `exported ${project} to ${file === STDOUT ? 'standard output' : printable(file)}\n${formatCopied(exported)}`
}

/** What was exported, how much that was and how long it took. */
export function formatCopied({ stages, tables, rows, system, bytes, seconds }: Copied): string {
  return formatFields([
    ['stages', stages.join(', ') || 'none'],
    ['tables', formatCount(tables)],
    ['rows', formatCount(rows)],
    ['system', system && `${formatCounted(system.roles, 'role')}, ${formatCounted(system.events, 'event')}`],
    ['size', formatBytes(bytes)],
    ['time', formatSeconds(seconds)],
  ])
}

/** @param where what lacks them, e.g. `the archive`. */
export function notExportedWarning(where: string, things: readonly NotExported[]): string {
  const lines = things.map(({ stage, kind, name, detail }) => {
    const reason = detail === undefined ? '' : ` (${detail})`
    return `  ${printable(`${stage}: ${kind} ${name}${reason}`)}`
  })
  return [`warning: ${where} has all rows, but not these, which no archive can hold:`, ...lines].join('\n')
}
