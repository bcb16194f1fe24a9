import { Argument, type Command } from 'commander'
import type { Run } from './run.ts'

type RunStart = (part?: 'api' | 'worker') => Promise<void>

/** Adds the commands that run the service, and those about all of it. */
export function addServiceCommands(program: Command, run: Run, runStart: RunStart): void {
  program
    .command('start')
    .description('run the service until it is stopped')
    .action(() => runStart())
  program
    .command('api')
    .description('run only the HTTP interface; needs DATABASE_URL')
    .action(() => runStart('api'))
  program
    .command('worker')
    .description('run only the jobs; needs DATABASE_URL')
    .action(() => runStart('worker'))
  program
    .command('doctor')
    .description('check what the service needs here: database, keys, storage, disk, Redis; 1 where something is wrong')
    .option('--json', 'print the result as one JSON object')
    .action(run(async () => (await import('../doctor/run-doctor.ts')).runDoctor))
  program
    .command('status')
    .description(
      'show how the service does: database, queue, jobs, schedules, archives, backup; 1 where something is wrong',
    )
    .option('--json', 'print the result as one JSON object')
    .action(run(async () => (await import('../status/run-status.ts')).runStatus))
  program
    .command('backup')
    .description('back up Wharf itself to where archives are: projects, roles, tokens, schedules, settings; no rows')
    .option('--json', 'print the result as one JSON object')
    .action(run(async () => (await import('../backup/run-backup.ts')).runBackup))
  program
    .command('recover <store>')
    .description(
      'bring Wharf back in an empty database, from its backup in a folder or s3://bucket/prefix, with the data',
    )
    .option('--backup <name>', 'this backup (default: the newest)')
    .option(
      '--key-file <file>',
      'the file that has the key of the backup (default: WHARF_BACKUP_KEY, or the terminal asks)',
    )
    .option('--quiet', 'do not say what is being done')
    .option('--json', 'print the result as one JSON object')
    .action(run(async () => (await import('../recover/run-recover.ts')).runRecover))
}

/** Adds the commands that help with all others. */
export function addHelpCommands(program: Command, run: Run): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .description('print what a shell completes commands and options by')
    .action(run(async () => (await import('../completion.ts')).runCompletion(program)))
  program.helpCommand('help [command]', 'display help for command')
}
