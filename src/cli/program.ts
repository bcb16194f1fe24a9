import { Command, CommanderError } from 'commander'
import { addDataCommands } from './commands/data.ts'
import { addJobCommands } from './commands/jobs.ts'
import { addCommonOptions } from './commands/options.ts'
import { addProjectCommands } from './commands/projects.ts'
import { addRoleCommands } from './commands/roles.ts'
import type { Run } from './commands/run.ts'
import { addScheduleCommands } from './commands/schedules.ts'
import { addStageCommands } from './commands/stages.ts'
import { addTokenCommands } from './commands/tokens.ts'
import { addWebhookCommands } from './commands/webhooks.ts'
import type { CliEnvironment } from './environment.ts'
import { EXIT, EXIT_HELP } from './exit-codes.ts'
import { toFailure } from './failure.ts'
import { createInterrupts } from './interrupts.ts'
import { maskSecrets } from './mask.ts'
import { assertNothingTaken } from './npm-options.ts'
import { harmless, printableJson } from './terminal/printable.ts'
import { print } from './terminal/write.ts'

export type { CliEnvironment, EmbeddedService } from './environment.ts'

const DESCRIPTION = [
  'Wharf moves the data of PostgreSQL projects: exact exports, imports and transfers.',
  '',
  'A project is addressed by its DSN, wharf://<project>:<TOKEN>@<host>[:port]. ' +
    'Without one, or with ".", a command uses the local project, and runs its server if it is not running.',
].join('\n')

/**
 * Runs one command. Nothing but commander is loaded before it is known which, so that `--help` is quick.
 *
 * @param argv the arguments after the program's name.
 * @returns the exit code, as `EXIT` has them. All output is written by then.
 */
export async function runCli(argv: readonly string[], environment: CliEnvironment): Promise<number> {
  const interrupts = createInterrupts(process)
  let exitCode: number = EXIT.done

  const run: Run =
    (load) =>
    async (...args) => {
      interrupts.listen()
      const work = await load()
      exitCode = await work({ environment, signal: interrupts.signal }, ...args)
    }
  const runStart = async (part?: 'api' | 'worker'): Promise<void> => {
    exitCode = await environment.runService(await environment.loadServiceConfig(), part)
  }

  // Each write fails when the reader has gone. Without a listener, the event that follows would end the process.
  for (const stream of [environment.stdout, environment.stderr]) stream.on('error', () => undefined)
  try {
    const program = createProgram(environment, run, runStart)
    program.hook('preSubcommand', (_, command) => assertNothingTaken(command, argv, environment.npmOptions))
    await program.parseAsync(argv, { from: 'user' })
    return exitCode
  } catch (error) {
    const asJson = argv.includes('--json')
    return await reportFailure(error, { ...environment, asJson }, interrupts.signal)
  } finally {
    interrupts.stop()
  }
}

function createProgram(
  { stdout, stderr, version }: CliEnvironment,
  run: Run,
  runStart: (part?: 'api' | 'worker') => Promise<void>,
): Command {
  const program = new Command('wharf')
    .description(DESCRIPTION)
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(harmless(text)),
      writeErr: (text) => void stderr.write(harmless(maskSecrets(text))),
    })
    .showHelpAfterError('(--help says more)')
    .addHelpText('afterAll', `\n${EXIT_HELP}`)
    .configureHelp({ subcommandTerm: (command) => command.name() })

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
    .action(run(async () => (await import('./doctor/run-doctor.ts')).runDoctor))
  program
    .command('status')
    .description(
      'show how the service does: database, queue, jobs, schedules, archives, backup; 1 where something is wrong',
    )
    .option('--json', 'print the result as one JSON object')
    .action(run(async () => (await import('./status/run-status.ts')).runStatus))
  program
    .command('backup')
    .description('back up Wharf itself to where archives are: projects, roles, tokens, schedules, settings; no rows')
    .option('--json', 'print the result as one JSON object')
    .action(run(async () => (await import('./backup/run-backup.ts')).runBackup))
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
    .action(run(async () => (await import('./recover/run-recover.ts')).runRecover))
  addDataCommands(program, run)
  addProjectCommands(program, run)
  addStageCommands(program, run)
  addRoleCommands(program, run)
  addTokenCommands(program, run)
  addJobCommands(program, run)
  addScheduleCommands(program, run)
  addWebhookCommands(program, run)
  addCommonOptions(program.commands)
  return program
}

/** @param asJson whether a program reads it. @returns the exit code. */
async function reportFailure(
  error: unknown,
  { stderr, asJson }: Pick<CliEnvironment, 'stderr'> & { readonly asJson: boolean },
  signal: AbortSignal,
): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.wrongUse
  if (signal.aborted) {
    await print(stderr, 'interrupted')
    return EXIT.interrupted
  }
  const { text, json, exitCode } = toFailure(error)
  await print(stderr, asJson ? printableJson(json) : text)
  return exitCode
}
