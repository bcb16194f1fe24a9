import type { Command, Option } from 'commander'
import { type AppError, wrongUse } from '../errors.ts'

/** What npm took for itself, by the option's name without dashes; undefined where it did not run the command. */
export type NpmOptions = ReadonlyMap<string, string> | undefined

/** The script in `package.json` that runs the command line. */
const NPM_SCRIPT = 'wharf'

/**
 * What npm set from options that it found before `--`, and took for its own: it says so to the script that it runs in
 * variables, `npm_config_dry_run` for `--dry-run`. Its settings from elsewhere are there as well.
 *
 * @param environment normally `process.env`.
 * @returns values by the option's name, `dry-run`; undefined where the command line was not run by `npm run wharf`.
 * @see https://docs.npmjs.com/cli/v11/using-npm/config#environment-variables
 */
export function readNpmOptions(environment: Readonly<Record<string, string | undefined>>): NpmOptions {
  const isNpm = environment.npm_config_user_agent?.startsWith('npm/') ?? false
  if (!isNpm || environment.npm_lifecycle_event !== NPM_SCRIPT) return undefined
  const prefix = 'npm_config_'
  return new Map(
    Object.entries(environment).flatMap(([name, value]) =>
      name.startsWith(prefix) && value !== undefined
        ? [[name.slice(prefix.length).replaceAll('_', '-'), value] as const]
        : [],
    ),
  )
}

/**
 * Options of npm's own that may be on for other reasons, in an `.npmrc` for instance. That they are on does not say
 * that they were meant for the command; without them it asks, refuses, or prints for people, so nothing is lost.
 */
const ALSO_SETTINGS: ReadonlySet<string> = new Set(['yes', 'force', 'json', 'quiet'])

/**
 * Refuses to run a command without the options that were meant for it: npm takes all that stands before `--`, and says
 * nothing. A `--dry-run` lost silently would be an import.
 *
 * @param argv as it came through, command and all.
 * @throws {AppError} WRONG_USE, with the right way to write it.
 */
export function assertNothingTaken(command: Command, argv: readonly string[], npmOptions: NpmOptions): void {
  if (!npmOptions) return
  const taken = command.options.filter((option) => isTaken(option, npmOptions) && !isGiven(option, argv))
  if (taken.length > 0) throw takenByNpm(command.name(), taken)
}

function isTaken({ long, negate, required, optional }: Option, npmOptions: ReadonlyMap<string, string>): boolean {
  const name = long?.replace(/^--(no-)?/, '') ?? ''
  const value = npmOptions.get(name)
  if (value === undefined || ALSO_SETTINGS.has(name)) return false
  if (negate) return value === '' || value === 'false'
  // An option with a value may be given an empty one; one without is off where it is empty.
  return required || optional || value === 'true'
}

const isGiven = ({ long = '' }: Option, argv: readonly string[]): boolean =>
  argv.some((word) => word === long || word.startsWith(`${long}=`))

function takenByNpm(command: string, options: readonly Option[]): AppError {
  const names = options.map(({ long }) => long).join(', ')
  const flags = options.map((option) => option.flags).join(' ')
  return wrongUse(
    `${names} was taken by npm, nothing was done; write all of it after "--": npm run wharf -- ${command} ... ${flags}`,
  )
}
