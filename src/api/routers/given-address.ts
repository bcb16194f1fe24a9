import { z } from 'zod'
import type { AllowedHosts } from '../../allowed-hosts.ts'
import type { Config } from '../../config.ts'
import { COMMAND_PROOF } from '../../contract/attachment.ts'
import { isCommandProof } from '../../data-folder/command-proof.ts'
import { queryFlag } from '../query.ts'

/** The head of a call that gives the address of a database. */
export const commandProofHeader = z.object({
  [COMMAND_PROOF]: z.string().exactOptional().meta({
    description: "What the operator's own command line sends, so that the host of the address need not be listed.",
  }),
})

/** The query of a call that detaches. */
export const forceQuery = z.object({
  force: queryFlag().meta({
    description:
      'Of what is attached: leaves what imports have left there, e.g. where the database is not to be reached.',
  }),
})

/** Of what forgets projects. */
export const schedulesQuery = z.object({
  deleteSchedules: queryFlag().meta({
    description:
      'Has schedules go with the projects that they name, or leaves these out of schedules that export others, too. Without, ' +
      'nothing is forgotten that a schedule names.',
  }),
})

/**
 * The hosts that an address may name: those that are listed, and any for somebody who can read this service's data
 * folder, and so could list them. What proves that is bound to the address, so that it serves for nothing else.
 *
 * The root token alone does not do: it is used from other machines, too, and behind proxies a connection from this one
 * says nothing about who has sent the request.
 */
export const hostsFor = (
  headers: z.output<typeof commandProofHeader>,
  address: string,
  { config, proofSecret }: { readonly config: Config; readonly proofSecret: string },
): AllowedHosts | undefined =>
  isCommandProof(headers[COMMAND_PROOF], proofSecret, address) ? undefined : config.transferHosts
