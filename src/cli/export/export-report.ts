import type { Stated } from '../../contract/completeness.ts'
import { formatBytes, formatCount, formatCounted, formatSeconds } from '../../lib/units.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { warnOfMissing } from '../missing-text.ts'
import { printable } from '../terminal/printable.ts'
import { printResult, type ReportOptions } from '../terminal/result.ts'
import { formatFields } from '../terminal/table.ts'
import { besideArchive, STDOUT } from './output-path.ts'
import type { ArchiveSummary } from './read-through.ts'

/** A project's data that came through. */
export interface Copied extends ArchiveSummary {
  /** As they came, compressed or not. */
  readonly bytes: number
  readonly seconds: number
}

/**
 * Says what was exported, and warns of what could not be. The result goes to standard output, or to standard error
 * where the archive itself went to standard output.
 *
 * @param exported as it is, the JSON result. @param fields what the result for people says of it.
 */
export async function reportExport(
  context: CommandContext,
  exported: { readonly project: string; readonly file: string } & Stated,
  fields: string,
  options: ReportOptions,
): Promise<number> {
  const { project, file } = exported
  await warnOfMissing(context, 'the archive', exported)
  if (file === STDOUT && options.quiet && !options.json) return EXIT.done
  const name = file === STDOUT ? 'standard output' : printable(file)
  return printResult(besideArchive(context, file), options, {
    json: exported,
    text: () => `exported ${project} to ${name}\n${fields}`,
  })
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
