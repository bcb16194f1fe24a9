import type { Command } from 'commander'
import type { JobDownloadOptions, JobListOptions, JobOptions, JobWatchOptions } from '../jobs/run-jobs.ts'
import { jsonOption, serverOption } from './options.ts'
import type { Run } from './run.ts'

const jobs = () => import('../jobs/run-jobs.ts')

/** Adds the commands about jobs. */
export function addJobCommands(program: Command, run: Run): void {
  program
    .command('job:list')
    .description('list the jobs, the newest first')
    .option('--status <status>', 'only those that are queued, running, succeeded, failed or cancelled')
    .option('--kind <kind>', 'only export, import or transfer')
    .option('--project <slug>', 'only those about this project')
    .option('--limit <n>', 'how many at most, up to 200', '50')
    .addOption(serverOption())
    .addOption(jsonOption())
    .action(run(async (context, options: JobListOptions) => (await jobs()).runJobList(context, options)))

  program
    .command('job:show <id>')
    .description('show a job: how far it is, and what came of it')
    .addOption(serverOption())
    .addOption(jsonOption())
    .action(run(async (context, id: string, options: JobOptions) => (await jobs()).runJobShow(context, id, options)))

  program
    .command('job:watch <id>')
    .description('wait until a job has ended; the exit code says whether it succeeded. Ctrl-C leaves the job alone')
    .option('--quiet', 'show no progress')
    .addOption(serverOption())
    .addOption(jsonOption())
    .action(
      run(async (context, id: string, options: JobWatchOptions) => (await jobs()).runJobWatch(context, id, options)),
    )

  program
    .command('job:cancel <id>')
    .description('end a job, queued or running; what it had begun is undone')
    .addOption(serverOption())
    .addOption(jsonOption())
    .action(run(async (context, id: string, options: JobOptions) => (await jobs()).runJobCancel(context, id, options)))

  program
    .command('job:download <id>')
    .description('download the archive that an export made')
    .option('--output <file>', 'output file, "-" for standard output (default: <project>.jsonl.gz)')
    .option('--quiet', 'show no progress')
    .addOption(serverOption())
    .addOption(jsonOption())
    .action(
      run(async (context, id: string, options: JobDownloadOptions) =>
        (await jobs()).runJobDownload(context, id, options),
      ),
    )
}
