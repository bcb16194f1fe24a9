import { notFound, wrongUse } from '../../errors.ts'
import { SLUG_PATTERN } from '../../lib/slug.ts'
import { parseServerTarget } from '../../transfer/remote/target.ts'
import type { CommandContext } from '../environment.ts'
import { askPassword } from '../terminal/ask-password.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'
import { formatTable } from '../terminal/table.ts'
import { readProfiles, writeProfiles } from './profile-file.ts'

/**
 * `profile:add`
 *
 * @param address with its token, or without: WHARF_TOKEN is taken then, or it is asked for.
 */
export async function runProfileAdd(
  context: CommandContext,
  name: string,
  address: string,
  options: ResultOptions,
): Promise<number> {
  if (!SLUG_PATTERN.test(name))
    throw wrongUse('a profile is named by a lower-case letter, then letters, digits, "-" or "_"')
  const target = parseServerTarget(address)
  if (target.kind === 'local') throw wrongUse('a profile is for a server that has a DSN: wharf://…')
  const path = await fileOf(context)
  const profiles = await readProfiles(path)
  const token = target.token ?? (await findToken(context, target.name))
  const [scheme = '', rest = ''] = target.name.split('://')
  const [host = '', project = ''] = rest.split('@').toReversed()
  await writeProfiles(path, { ...profiles, [name]: `${scheme}://${project}:${encodeURIComponent(token)}@${host}` })
  return printResult(context, options, {
    json: { profile: name, address: target.name },
    text: () => `@${name} is ${target.name}, with its token in ${path}`,
  })
}

/** `profile:list` */
export async function runProfileList(context: CommandContext, options: ResultOptions): Promise<number> {
  const found = Object.entries(await readProfiles(await fileOf(context))).map(([profile, dsn]) => {
    const target = parseServerTarget(dsn)
    return { profile, address: target.kind === 'local' ? '.' : target.name }
  })
  return printResult(context, options, {
    json: { profiles: found },
    text: (style) =>
      found.length === 0
        ? 'there are no profiles'
        : formatTable(
            ['profile', 'address'],
            found.map(({ profile, address }) => [`@${profile}`, address]),
            style,
          ),
  })
}

/** `profile:remove` */
export async function runProfileRemove(context: CommandContext, name: string, options: ResultOptions): Promise<number> {
  const path = await fileOf(context)
  const { [name]: removed, ...others } = await readProfiles(path)
  if (removed === undefined) throw notFound('profile', name)
  await writeProfiles(path, others)
  return printResult(context, options, { json: { profile: name }, text: () => `removed the profile @${name}` })
}

async function fileOf({ environment }: CommandContext): Promise<string> {
  const { profilesFile } = await environment.loadConfig()
  if (profilesFile !== undefined) return profilesFile
  throw wrongUse('nothing says where profiles are kept: set WHARF_PROFILES to a file, or HOME')
}

async function findToken(context: CommandContext, name: string): Promise<string> {
  const { token: given } = await context.environment.loadConfig()
  const token = given ?? (await askPassword(context, name, 'set WHARF_TOKEN to it', 'token'))
  if (token === '') throw wrongUse('a profile needs a token')
  return token
}
