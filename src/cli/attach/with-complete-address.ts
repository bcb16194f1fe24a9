import { PASSWORD_MISSING } from '../../contract/attachment.ts'
import type { CommandContext } from '../environment.ts'
import { RemoteProblem } from '../remote-problem.ts'
import { onServer, type Server, type ServerOptions } from '../server.ts'
import { askPassword } from '../terminal/ask-password.ts'
import type { CompleteAddress } from './complete-address.ts'

/**
 * Hands a server an address that it connects to; once more, with a password that is asked for, where it wants one that
 * is nowhere.
 *
 * @param complete makes the address complete. @param password instead of the one that it finds.
 */
export async function withCompleteAddress(
  context: CommandContext,
  options: ServerOptions,
  complete: (password?: string) => Promise<CompleteAddress>,
  send: (server: Server, address: CompleteAddress) => Promise<number>,
): Promise<number> {
  const address = await complete()
  return onServer(context, options, async (server) => {
    try {
      return await send(server, address)
    } catch (error) {
      const isMissing = error instanceof RemoteProblem && error.message.includes(PASSWORD_MISSING)
      if (address.hasPassword || !isMissing) throw error
      return send(server, await complete(await askPassword(context, address.name)))
    }
  })
}
