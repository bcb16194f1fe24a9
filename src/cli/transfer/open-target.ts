import { isPostgresAddress } from '../../database/address/parse-address.ts'
import { parseProjectTarget, type Target } from '../../transfer/remote/target.ts'
import type { CommandContext } from '../environment.ts'
import { importArchive } from '../import/import-call.ts'
import { withServer } from '../server.ts'
import { type Endpoint, nameOf, stagesOf, toEndpoint } from './endpoint.ts'
import { locationOf } from './same-database.ts'
import type { TransferTarget } from './transfer-target.ts'

export interface TargetChoice {
  readonly address: string
  /** Undefined where it is the address of a database. */
  readonly target: Target | undefined
}

/** @throws {AppError} WRONG_USE where it is neither the address of a project nor of a database. */
export const chooseTarget = (address: string): TargetChoice => ({
  address,
  target: isPostgresAddress(address) ? undefined : parseProjectTarget(address),
})

/**
 * Opens the way to a target for as long as `work` takes: a project of a server, or a database that is named by its
 * address.
 */
export async function withTransferTarget<T>(
  context: CommandContext,
  { address, target }: TargetChoice,
  work: (target: TransferTarget) => Promise<T>,
): Promise<T> {
  if (target) return withServer(context, target, (server) => work(serverTarget(toEndpoint(server))))
  // Loaded here, since all others do without what connects to databases.
  const { withDirectTarget } = await import('../direct/direct-target.ts')
  return withDirectTarget(context, address, work)
}

function serverTarget(endpoint: Endpoint): TransferTarget {
  const { project, server } = endpoint
  return {
    ...{ name: nameOf(endpoint), project, endpoint },
    stages: () => stagesOf(endpoint),
    location: () => locationOf(endpoint),
    async send(bytes, { progress, allowIncomplete }) {
      const call = { http: server.http, targetSlug: project, allowEdited: false, allowIncomplete, progress }
      return (await importArchive({ ...call, archive: { bytes } })).projects
    },
  }
}
