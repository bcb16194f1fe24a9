import type { Command } from 'commander'
import type { Run } from './run.ts'

const jobs = () => import('../jobs/run-jobs.ts')

/** Adds the commands about jobs. */
export function addJobCommands(program: Command, run: Run): void {
  program
    .command('job:list')
    .description('list the jobs, the newest first')
    .option('--status <status>', 'only jobs that are queued, running, succeeded, failed or cancelled')
    .option('--kind <kind>', 'only jobs of this kind: export, import or transfer')
    .option('--project <slug>', 'only jobs about this project')
    .option('--limit <n>', 'how many at most, up to 200', '50')
    .action(run(async () => (await jobs()).runJobList))

  program
    .command('job:show <id>')
    .description('show a job: its progress, and its result')
    .action(run(async () => (await jobs()).runJobShow))

  program
    .command('job:watch <id>')
    .description('wait until a job has ended, and exit with 0 if it succeeded. Ctrl-C leaves the job alone')
    .option('--quiet', 'show no progress')
    .action(run(async () => (await jobs()).runJobWatch))

  program
    .command('job:cancel <id>')
    .description('cancel a job, queued or running; what it had begun is undone')
    .action(run(async () => (await jobs()).runJobCancel))

  program
    .command('job:download <id>')
    .description('download the archive that an export made')
    .option(
      '--output <file>',
      'output file, "-" for standard output (default: <project>.jsonl.gz or <project>.jsonl.zst)',
    )
    .option('--quiet', 'show no progress')
    .action(run(async () => (await jobs()).runJobDownload))
}
