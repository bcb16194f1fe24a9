import type { z } from 'zod'
import { lookedAtServerSchema } from '../../contract/attached-server.ts'
import type { FromServer } from '../../contract/from-server.ts'
import { takeExcluded, USUAL_DATABASE, withExcluded } from '../../database/address/excluded-databases.ts'
import { isPostgresAddress } from '../../database/address/parse-address.ts'
import { serverSlug } from '../../database/address/server-name.ts'
import { wrongUse } from '../../errors.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { encodedPath } from '../http.ts'
import { onServer, type ServerOptions } from '../server.ts'
import { printable } from '../terminal/printable.ts'
import { printResult } from '../terminal/result.ts'
import { formatTable } from '../terminal/table.ts'
import { completeAddress } from './complete-address.ts'
import { sendAddress } from './send-address.ts'
import { withCompleteAddress } from './with-complete-address.ts'

export interface AttachAllOptions extends ServerOptions {
  readonly name?: string
  readonly prefix?: string
  readonly change?: boolean
}

type LookedAt = FromServer<z.output<typeof lookedAtServerSchema>>

/**
 * `project:attach --all`
 *
 * @param given the address of a server, or the name of one that is attached, which is looked at again.
 * @returns `EXIT.failed` where a database was refused.
 */
export async function runAttachAll(context: CommandContext, given: string, options: AttachAllOptions): Promise<number> {
  if (!isPostgresAddress(given)) return lookAgain(context, given, options)
  const environment = await context.environment.readAddressEnvironment()
  const { address, excluded } = takeExcluded(given)
  const complete = (password?: string) =>
    completeAddress(address, environment, {
      usualDatabase: USUAL_DATABASE,
      ...(password !== undefined && { password }),
    })
  return withCompleteAddress(context, options, complete, async (server, found) => {
    const text = withExcluded({ address: found.text, excluded })
    const { name = serverSlug(found), prefix } = options
    const call = options.change
      ? ({ method: 'PUT', path: encodedPath`/attached-servers/${name}`, body: { address: text } } as const)
      : ({ method: 'POST', path: '/attached-servers', body: { name, address: text, prefix } } as const)
    return report(
      context,
      options,
      await sendAddress(context, server, options, { ...call, address: text }, lookedAtServerSchema),
    )
  })
}

function lookAgain(context: CommandContext, name: string, options: AttachAllOptions): Promise<number> {
  const { change, name: otherName, prefix } = options
  if (change || otherName !== undefined || prefix !== undefined) {
    throw wrongUse('--all with the name of a server looks at it again; --change, --name and --prefix need its address')
  }
  const call = { method: 'POST', path: encodedPath`/attached-servers/${name}/look` } as const
  return onServer(context, options, async ({ http }) =>
    report(context, options, await http.json(call, lookedAtServerSchema)),
  )
}

async function report(context: CommandContext, options: AttachAllOptions, looked: LookedAt): Promise<number> {
  const { name, address, databases } = looked
  await printResult(context, options, {
    json: looked,
    text: (style) => {
      const rows = databases.map(({ database, project, outcome, stages, reason }) => [
        ...[database, project ?? '-'],
        outcome +
          (stages.length === 0 ? '' : ` ${stages.map(({ slug, schema }) => `${slug} (schema ${schema})`).join(', ')}`),
        reason ?? '',
      ])
      const heading = printable(`server ${name}: ${address}`)
      return rows.length === 0
        ? `${heading}\nit has no databases`
        : `${heading}\n${formatTable(['database', 'project', 'outcome', 'reason'], rows, style)}`
    },
  })
  return databases.some(({ outcome }) => outcome === 'refused') ? EXIT.failed : EXIT.done
}
