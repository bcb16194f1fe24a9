import type { Command } from 'commander'
import { wrongUse } from '../../errors.ts'
import { SLUG_PATTERN } from '../../lib/slug.ts'
import type { Profiles } from './profile-file.ts'

/** `@name`, or `@name/project` for another project of that server. */
const MENTION = /^@([^/]*)(?:\/(.*))?$/s

/**
 * Puts the DSNs of profiles where a command is given their names: in the arguments that are projects, and in `--server`.
 *
 * @param read gives them; it is called where a name is given, and only then.
 * @throws {AppError} WRONG_USE where there is no such profile.
 */
export async function resolveProfiles(command: Command, read: () => Promise<Profiles>): Promise<void> {
  let profiles: Profiles | undefined
  const resolve = async (given: unknown): Promise<unknown> => {
    const [, name, project] = (typeof given === 'string' && MENTION.exec(given)) || []
    if (name === undefined) return given
    profiles ??= await read()
    return addressOf(profiles, name, project)
  }
  for (const [index, argument] of command.registeredArguments.entries()) {
    if (isAddress(command, argument.name())) command.processedArgs[index] = await resolve(command.processedArgs[index])
  }
  const server: unknown = command.getOptionValue('server')
  if (server !== undefined) command.setOptionValue('server', await resolve(server))
}

/** The archive of a schedule takes no file, so that the target is the first argument. */
const isAddress = (command: Command, argument: string): boolean =>
  argument.endsWith('-project') || (argument === 'input-file' && command.getOptionValue('fromSchedule') !== undefined)

function addressOf(profiles: Profiles, name: string, project: string | undefined): string {
  const address = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (address === undefined) {
    const known = Object.keys(profiles).map((each) => `@${each}`)
    const hint = known.length > 0 ? `there are ${known.join(', ')}` : 'there is none yet'
    throw wrongUse(`there is no such profile: ${hint}; profile:add makes one`)
  }
  if (project === undefined) return address
  if (!SLUG_PATTERN.test(project))
    throw wrongUse('what follows the profile is not the slug of a project: @<profile>/<project>')
  return withProjectOf(address, project)
}

/** The same DSN, for another project. */
const withProjectOf = (address: string, project: string): string =>
  address.replace(
    /^([^:]*:\/\/)(?:[^:@]*((?::[^@]*)?@))?/,
    (_, scheme: string, rest = '@') => `${scheme}${project}${rest}`,
  )
