import { type Command, Option } from 'commander'

/** Collects an option that may be given several times. */
const collect = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** @param flags with a required value, e.g. `--stage <slug>`. */
export const repeatable = (flags: string, description: string): Option =>
  new Option(flags, `${description}; can be repeated`).argParser(collect)

export const yesOption = (): Option => new Option('--yes', 'do not ask for confirmation')

export const allowIncompleteOption = (): Option =>
  new Option('--allow-incomplete', 'accept that rows are missing that no archive can hold; without it that is refused')

export const jobsOption = (): Option =>
  new Option(
    '--jobs <number>',
    'how many sessions read one database side by side, at most (default: as many as there are processors, up to 4; 1 with --max-rate)',
  )

export const maxRateOption = (): Option =>
  new Option(
    '--max-rate <rate>',
    'make no more of the archive in a second, before it is compressed: from 256k to 1G; sparing others who use the database',
  )

export const zstdOption = (): Option =>
  new Option(
    '--zstd',
    'compress with zstd instead of gzip: to smaller files, in about the same time; Node.js 22.15 or newer writes and reads it',
  )

export const projectOption = (): Option =>
  new Option('--project <slug>', 'the project (default: that of --server, or the local one)')

/** Commands about a server as a whole; those about a project take its DSN as an argument. */
const ABOUT_A_SERVER = /^(job|project|role|schedule|token|webhook):/

/** Adds the options that commands of a kind have in common, as the last ones. */
export function addCommonOptions(commands: readonly Command[]): void {
  for (const command of commands.filter((each) => each.name().includes(':'))) {
    if (ABOUT_A_SERVER.test(command.name())) {
      command.option('--server <dsn>', 'another server: wharf://[<project>][:<TOKEN>]@<host>[:port]')
    }
    command.option('--json', 'print the result as one JSON object')
  }
}

/** Of what forgets projects. */
export const deleteSchedulesOption = (): Option =>
  new Option(
    '--delete-schedules',
    'have schedules go with it that name it, and leave it out of those that export others, too',
  )
