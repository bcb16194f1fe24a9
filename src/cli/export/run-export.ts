import { isPostgresAddress } from '../../database/address/parse-address.ts'
import { wrongUse } from '../../errors.ts'
import type { CommandContext } from '../environment.ts'
import { withProject } from '../server.ts'
import { downloadArchive } from './download-archive.ts'
import { formatCopied, reportExport } from './export-report.ts'
import { type ExportOptions, readCoding, readReading, toSelection } from './export-selection.ts'
import { assertUsableOutput } from './output-path.ts'
import { runAsyncExport } from './run-async-export.ts'
import { outputOf, saveArchive } from './save-archive.ts'

/** `data:export` */
export async function runExport(
  context: CommandContext,
  source: string | undefined,
  options: ExportOptions,
): Promise<number> {
  if (options.async && !options.gzip)
    throw wrongUse('an archive that a job makes is always compressed: leave --no-gzip out')
  const coding = readCoding(options)
  if (options.output !== undefined) await assertUsableOutput(options.output, context.environment.stdout)
  if (source !== undefined && isPostgresAddress(source)) {
    // Loaded here, since all others do without what connects to databases.
    const { exportDirectly } = await import('../direct/export-directly.ts')
    return exportDirectly(context, source, options)
  }
  const asked = readReading(options)
  if (options.async) return runAsyncExport(context, source, options)
  const exported = await withProject(context, source, async ({ http }, project) => {
    const file = await outputOf(context, project, options, coding)
    const selection = { slug: project, ...toSelection(options) }
    return saveArchive(context, { project, file }, options, (receiving) =>
      downloadArchive({ http, selection, coding, ...asked, ...receiving }),
    )
  })
  return reportExport(context, exported, formatCopied(exported), options)
}
