import type { Target } from '../../transfer/remote/target.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { assertSucceeded, followJob } from '../jobs/follow-job.ts'
import { notExportedOf, submitExport } from '../jobs/job-api.ts'
import { downloadJob } from '../jobs/run-jobs.ts'
import { projectOf, withServer } from '../server.ts'
import { printable } from '../terminal/printable.ts'
import { printResult } from '../terminal/result.ts'
import { formatFields } from '../terminal/table.ts'
import { formatBytes, formatCount } from '../terminal/units.ts'
import { print } from '../terminal/write.ts'
import { notExportedWarning } from './export-report.ts'
import { type SelectionOptions, toSelection } from './export-selection.ts'
import { STDOUT } from './output-path.ts'

export interface AsyncExportOptions extends SelectionOptions {
  readonly output?: string
  readonly quiet?: boolean
  readonly json?: boolean
}

/** `data:export --async`: the server makes the archive in its own time, and keeps it; then it is downloaded. */
export async function runAsyncExport(
  context: CommandContext,
  target: Target,
  options: AsyncExportOptions,
): Promise<number> {
  const { quiet = false, output } = options
  const exported = await withServer(context, target, async (server) => {
    const project = projectOf(undefined, server)
    const submitted = await submitExport(server.http, [toSelection(project, options)])
    const job = await followJob(context, server.http, submitted, { quiet, cancelOnInterrupt: true })
    assertSucceeded(job)
    const file = output ?? `${project}.jsonl.gz`
    const downloaded = await downloadJob(context, server, job, { output: file, quiet })
    return { project, jobId: job.id, rows: job.progress?.rows ?? 0, ...downloaded, notExported: notExportedOf(job) }
  })
  const { environment } = context
  if (exported.notExported.length > 0) {
    await print(environment.stderr, notExportedWarning('the archive', exported.notExported))
  }
  const isFile = exported.file !== STDOUT
  if (!isFile && quiet && !options.json) return EXIT.done
  await printResult(isFile ? environment : { ...environment, stdout: environment.stderr }, options, {
    json: exported,
    text: () =>
      `exported ${exported.project} to ${isFile ? printable(exported.file) : 'standard output'}\n${formatFields([
        ['job', exported.jobId],
        ['rows', formatCount(exported.rows)],
        ['size', formatBytes(exported.bytes)],
      ])}`,
  })
  return EXIT.done
}
