import { Command, CommanderError } from 'commander'
import { wrongUse } from '../errors.ts'
import { addDataCommands } from './commands/data.ts'
import { addExamples } from './commands/examples.ts'
import { addJobCommands } from './commands/jobs.ts'
import { addCommonOptions } from './commands/options.ts'
import { addProfileCommands } from './commands/profiles.ts'
import { addProjectCommands } from './commands/projects.ts'
import { addRoleCommands } from './commands/roles.ts'
import type { Run } from './commands/run.ts'
import { addScheduleCommands } from './commands/schedules.ts'
import { addHelpCommands, addServiceCommands } from './commands/service.ts'
import { addStageCommands } from './commands/stages.ts'
import { addTokenCommands } from './commands/tokens.ts'
import { addVariables } from './commands/variables.ts'
import { addWebhookCommands } from './commands/webhooks.ts'
import type { CliEnvironment } from './environment.ts'
import { EXIT, EXIT_HELP } from './exit-codes.ts'
import { toFailure } from './failure.ts'
import { createInterrupts } from './interrupts.ts'
import { maskSecrets } from './mask.ts'
import { assertNothingTaken } from './npm-options.ts'
import type { Profiles } from './profiles/profile-file.ts'
import { resolveProfiles } from './profiles/resolve-profile.ts'
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
  const asJson = argv.includes('--json')
  try {
    const program = createProgram({ ...environment, asJson }, run, runStart)
    program.hook('preSubcommand', (_, command) => assertNothingTaken(command, argv, environment.npmOptions))
    program.hook('preAction', (_, command) => resolveProfiles(command, () => readProfilesOf(environment)))
    await program.parseAsync(argv, { from: 'user' })
    return exitCode
  } catch (error) {
    return await reportFailure(error, { ...environment, asJson }, interrupts.signal)
  } finally {
    interrupts.stop()
  }
}

/** @param asJson whether errors are left to `reportFailure`, which prints them as JSON. */
function createProgram(
  { stdout, stderr, version, asJson }: CliEnvironment & { readonly asJson: boolean },
  run: Run,
  runStart: (part?: 'api' | 'worker') => Promise<void>,
): Command {
  const program = new Command('wharf')
    .description(DESCRIPTION)
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(harmless(text)),
      writeErr: (text) => void (asJson || stderr.write(harmless(maskSecrets(text)))),
    })
    .showHelpAfterError('(--help says more)')
    .addHelpText('afterAll', `\n${EXIT_HELP}`)
    .configureHelp({ subcommandTerm: (command) => command.name() })

  addServiceCommands(program.commandsGroup('Service:'), run, runStart)
  addDataCommands(program.commandsGroup('Data:'), run)
  addProjectCommands(program.commandsGroup('Projects and stages:'), run)
  addStageCommands(program, run)
  addRoleCommands(program.commandsGroup('Access:'), run)
  addTokenCommands(program, run)
  addProfileCommands(program, run)
  addJobCommands(program.commandsGroup('Jobs and schedules:'), run)
  addScheduleCommands(program, run)
  addWebhookCommands(program, run)
  addHelpCommands(program.commandsGroup('Help:'), run)
  addCommonOptions(program.commands)
  addExamples(program.commands)
  addVariables(program)
  return program
}

async function readProfilesOf(environment: CliEnvironment): Promise<Profiles> {
  const { profilesFile } = await environment.loadConfig()
  const { readProfiles } = await import('./profiles/profile-file.ts')
  return profilesFile === undefined ? {} : readProfiles(profilesFile)
}

/** @param asJson whether a program reads it. @returns the exit code. */
async function reportFailure(
  error: unknown,
  { stderr, asJson }: Pick<CliEnvironment, 'stderr'> & { readonly asJson: boolean },
  signal: AbortSignal,
): Promise<number> {
  if (error instanceof CommanderError && (error.exitCode === 0 || !asJson)) {
    // It has been printed already.
    return error.exitCode === 0 ? EXIT.done : EXIT.wrongUse
  }
  if (signal.aborted) {
    await print(stderr, 'interrupted')
    return EXIT.interrupted
  }
  const { text, json, exitCode } = toFailure(error instanceof CommanderError ? wrongUse(wordsOf(error)) : error)
  await print(stderr, asJson ? printableJson(json) : text)
  return exitCode
}

/** What commander says of arguments that are wrong, as one sentence. */
const wordsOf = ({ message }: CommanderError): string => message.replace(/^error: /, '').replaceAll('\n', ' ')
