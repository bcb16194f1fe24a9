import type { CommandContext } from '../environment.ts'
import { printable } from '../terminal/printable.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'
import { formatFields } from '../terminal/table.ts'
import { formatBytes, formatCount, formatCounted, formatSeconds } from '../terminal/units.ts'
import { print } from '../terminal/write.ts'
import { STDOUT } from './output-path.ts'
import type { ArchiveSummary, NotExported } from './read-through.ts'

/** An export that is done; as it is, the JSON result. */
export interface Export extends ArchiveSummary {
  readonly project: string
  readonly file: string
  /** Of the file. */
  readonly bytes: number
  readonly seconds: number
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
  if (exported.notExported.length > 0) await print(stderr, notExportedWarning(exported.notExported))
  const isFile = exported.file !== STDOUT
  if (!isFile && options.quiet && !options.json) return
  await printResult(isFile ? environment : { ...environment, stdout: stderr }, options, {
    json: exported,
    text: () => formatExport(exported),
  })
}

function formatExport({ project, file, stages, tables, rows, system, bytes, seconds }: Export): string {
  const fields = [
    ['stages', stages.join(', ') || 'none'],
    ['tables', formatCount(tables)],
    ['rows', formatCount(rows)],
    ['system', system && `${formatCounted(system.roles, 'role')}, ${formatCounted(system.events, 'event')}`],
    ['size', formatBytes(bytes)],
    ['time', formatSeconds(seconds)],
  ] as const
  return `exported ${project} to ${file === STDOUT ? 'standard output' : file}\n${formatFields(fields)}`
}

function notExportedWarning(things: readonly NotExported[]): string {
  const lines = things.map(({ stage, kind, name, detail }) => {
    const reason = detail === undefined ? '' : ` (${detail})`
    return `  ${printable(`${stage}: ${kind} ${name}${reason}`)}`
  })
  return ['warning: the archive has all rows, but not these, which no archive can hold:', ...lines].join('\n')
}
