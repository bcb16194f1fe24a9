import { wrongUse } from '../../errors.ts'
import type { CommandContext } from '../environment.ts'
import { formatCopied, reportExport } from '../export/export-report.ts'
import { type ExportOptions, readCoding } from '../export/export-selection.ts'
import { outputOf, saveArchive } from '../export/save-archive.ts'
import { readDirectAddress } from './direct-address.ts'
import { assertNoSystem, withDirectSource } from './direct-source.ts'

/** `data:export` of a database that is named by its address: this process exports it, without a server of Wharf's. */
export async function exportDirectly(context: CommandContext, text: string, options: ExportOptions): Promise<number> {
  assertNoSystem(options)
  if (options.async) {
    throw wrongUse(
      'a job is made by a server, and there is none for the address of a database: leave --async out, or attach the database (project:attach)',
    )
  }
  const address = await readDirectAddress(context, text)
  const { project } = address
  const coding = readCoding(options)
  const file = await outputOf(context, project, options, coding)
  const exported = await withDirectSource(context, address, options, (source) =>
    saveArchive(context, { project, file }, options, (receiving) => source.download({ coding, ...receiving })),
  )
  return reportExport(context, exported, formatCopied(exported), options)
}
