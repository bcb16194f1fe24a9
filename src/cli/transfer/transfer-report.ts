import type { CommandContext } from '../environment.ts'
import { type Copied, formatCopied } from '../export/export-report.ts'
import { leftOutNotes, type WithLeftOut } from '../import/left-out-notes.ts'
import { type RolesLeftOut, roleNotes } from '../import/role-notes.ts'
import { warnOfMissing } from '../missing-text.ts'
import { printResult, type ReportOptions } from '../terminal/result.ts'
import { print } from '../terminal/write.ts'

type StageLeftOut = WithLeftOut['stages'][number]

/** The stages of a result that lack something of what came, or have more. */
export const leftOutOf = (projects: readonly WithLeftOut[]): readonly StageLeftOut[] =>
  projects
    .flatMap(({ stages }) => stages.map(({ slug, leftOut, notReplaced }) => ({ slug, leftOut, notReplaced })))
    .filter(({ leftOut, notReplaced }) => leftOut.length + notReplaced.length > 0)

/** A transfer that is done; as it is, the JSON result. */
export interface Transfer extends Copied {
  /** Slugs of projects. */
  readonly source: string
  readonly target: string
  /** In what the roles of the target are not as those of the source. */
  readonly rolesLeftOut: RolesLeftOut
  /** Rights and policies of the source that the target does not get, and what keeps its rows there. */
  readonly leftOut: readonly StageLeftOut[]
}

/** Says what was transferred, and warns of what could not be. */
export async function reportTransfer(
  context: CommandContext,
  transferred: Transfer,
  options: ReportOptions,
): Promise<number> {
  const { source, target, rolesLeftOut, leftOut } = transferred
  for (const note of roleNotes(target, rolesLeftOut)) await print(context.environment.stderr, note)
  for (const note of leftOutNotes([{ targetSlug: target, stages: leftOut }]))
    await print(context.environment.stderr, note)
  await warnOfMissing(context, 'the target', transferred)
  return printResult(context, options, {
    json: transferred,
    text: () => `transferred ${source} to ${target}\n${formatCopied(transferred)}`,
  })
}
