import { assertRowsThere } from '../../archive/assert-rows.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { CommandContext } from '../environment.ts'
import { assertSucceeded, followJob, namingJob } from '../jobs/follow-job.ts'
import { lackingOf, submitJob } from '../jobs/job-api.ts'
import { downloadJob } from '../jobs/run-jobs.ts'
import { withProject } from '../server.ts'
import type { ReportOptions } from '../terminal/result.ts'
import { formatFields } from '../terminal/table.ts'
import { reportExport } from './export-report.ts'
import { readCompression, readReading, type SelectionOptions, toSelection } from './export-selection.ts'

interface AsyncExportOptions extends SelectionOptions, ReportOptions {
  readonly output?: string
  readonly zstd?: boolean
}

/** `data:export --async`: the server makes the archive in its own time, and keeps it; then it is downloaded. */
export async function runAsyncExport(
  context: CommandContext,
  source: string | undefined,
  options: AsyncExportOptions,
): Promise<number> {
  const { quiet = false, output, allowIncomplete } = options
  const exported = await withProject(context, source, async (server, project) => {
    const request = {
      projects: [{ slug: project, ...toSelection(options) }],
      ...readReading(options),
      ...readCompression(options),
    }
    const submitted = await submitJob(server.http, '/export', request, allowIncomplete)
    const job = await followJob(context, server.http, submitted, { quiet, cancelOnInterrupt: true })
    assertSucceeded(job)
    const lacking = lackingOf(job)
    // A server of an earlier version does not refuse it.
    assertRowsThere(lacking.notExported, options)
    const downloaded = await downloadJob(context, server, job, { output, quiet }).catch((error: unknown) => {
      throw namingJob(error, `the archive is made: job:download ${job.id} gets it`)
    })
    return { project, jobId: job.id, rows: job.progress?.rows ?? 0, ...downloaded, ...lacking }
  })
  const fields = formatFields([
    ['job', exported.jobId],
    ['rows', formatCount(exported.rows)],
    ['size', formatBytes(exported.bytes)],
  ])
  return reportExport(context, exported, fields, options)
}
