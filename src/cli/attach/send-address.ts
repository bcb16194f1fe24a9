import type { z } from 'zod'
import { COMMAND_PROOF } from '../../contract/attachment.ts'
import type { FromServer } from '../../contract/from-server.ts'
import { proveCommand } from '../../data-folder/command-proof.ts'
import { readOwnFile } from '../../data-folder/own-files.ts'
import { proofSecretPath } from '../../data-folder/service-proof.ts'
import type { CommandContext } from '../environment.ts'
import { type HttpCall, jsonBody } from '../http.ts'
import type { Server, ServerOptions } from '../server.ts'

/**
 * Sends a server an address that it is to connect to. To the local server, it is said who sends it: the operator, who can
 * read its data folder.
 *
 * @throws {AppError} as the server refuses.
 */
export async function sendAddress<S extends z.ZodType>(
  context: CommandContext,
  { http }: Server,
  { server }: ServerOptions,
  call: Pick<HttpCall, 'method' | 'path'> & { readonly address: string; readonly body: object },
  schema: S,
): Promise<FromServer<z.output<S>>> {
  const { address, body, ...target } = call
  const secret = server === undefined || server === '.' ? await readSecret(context) : undefined
  const { headers, ...rest } = jsonBody(body)
  const proof = secret === undefined ? {} : { [COMMAND_PROOF]: proveCommand(secret, address) }
  return http.json({ ...target, ...rest, headers: { ...headers, ...proof } }, schema)
}

async function readSecret({ environment }: CommandContext): Promise<string | undefined> {
  const { dataDir } = await environment.loadConfig()
  const file = await readOwnFile(proofSecretPath(dataDir), 'secret')
  return file.kind === 'read' ? file.text.trim() : undefined
}
