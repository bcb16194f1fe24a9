import { AppError } from '../../errors.ts'
import type { CommandContext } from '../environment.ts'
import { readReading, type SelectionOptions, toSelection } from '../export/export-selection.ts'
import { assertSucceeded, followJob } from '../jobs/follow-job.ts'
import { resultOf, submitJob } from '../jobs/job-api.ts'
import type { Endpoint } from './endpoint.ts'
import { leftOutOf, type Transfer } from './transfer-report.ts'

/** Has one server move a project into another of its own. Ctrl-C cancels it there. */
export async function transferAsJob(
  context: CommandContext,
  from: Endpoint,
  to: Endpoint,
  options: SelectionOptions & { readonly quiet?: boolean },
): Promise<Transfer> {
  const startedAt = performance.now()
  const { http } = to.server
  const ends = { source: { project: from.project }, target: { project: to.project } }
  const request = { ...ends, ...toSelection(options), ...readReading(options) }
  const submitted = await submitJob(http, '/transfer', request, options.allowIncomplete)
  const job = await followJob(context, http, submitted, { quiet: options.quiet, cancelOnInterrupt: true })
  assertSucceeded(job)
  const result = resultOf(job)
  if (!result) throw new AppError('REMOTE_FAILED', `${http.origin} gave a result that this version does not understand`)
  const stages = result.projects.flatMap((project) => project.stages)
  return {
    source: from.project,
    target: to.project,
    leftOut: leftOutOf(result.projects),
    rolesLeftOut: result.projects.flatMap(({ rolesLeftOut }) => rolesLeftOut),
    stages: stages.map((stage) => stage.slug),
    tables: stages.reduce((sum, { tables }) => sum + tables, 0),
    rows: stages.reduce((sum, { rows }) => sum + rows, 0),
    system: result.system ?? undefined,
    complete: result.complete,
    notExported: result.notExported,
    bytes: job.progress?.bytes ?? 0,
    seconds: (performance.now() - startedAt) / 1000,
  }
}
