import type { CommandContext } from '../environment.ts'
import { type Copied, formatCopied, notExportedWarning } from '../export/export-report.ts'
import { type RolesLeftOut, roleNotes } from '../import/role-notes.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'
import { print } from '../terminal/write.ts'

/** A transfer that is done; as it is, the JSON result. */
export interface Transfer extends Copied {
  /** Slugs of projects. */
  readonly source: string
  readonly target: string
  /** In what the roles of the target are not as those of the source. */
  readonly rolesLeftOut: RolesLeftOut
}

export interface TransferReportOptions extends ResultOptions {
  readonly quiet?: boolean
}

/** Says what was transferred, and warns of what could not be. */
export async function reportTransfer(
  { environment }: CommandContext,
  transferred: Transfer,
  options: TransferReportOptions,
): Promise<void> {
  const { source, target, notExported, rolesLeftOut } = transferred
  for (const note of roleNotes(target, rolesLeftOut)) await print(environment.stderr, note)
  if (notExported.length > 0) await print(environment.stderr, notExportedWarning('the target', notExported))
  await printResult(environment, options, {
    json: transferred,
    text: () => `transferred ${source} to ${target}\n${formatCopied(transferred)}`,
  })
}
