import { isPostgresAddress } from '../../database/address/parse-address.ts'
import type { Target } from '../../transfer/remote/target.ts'
import type { CommandContext } from '../environment.ts'
import { downloadArchive } from '../export/download-archive.ts'
import { examineExport } from '../export/examine-export.ts'
import { readReading, type SelectionOptions, toSelection } from '../export/export-selection.ts'
import type { ArchiveSummary } from '../export/read-through.ts'
import type { Receiving } from '../export/receive-archive.ts'
import { withServer } from '../server.ts'
import { type Endpoint, nameOf, stagesOf, toEndpoint } from './endpoint.ts'
import { directLocation, locationOf, type StageLocation } from './same-database.ts'

/** Where the data of a transfer comes from. */
export interface TransferSource {
  /** For messages. */
  readonly name: string
  /** The project's slug. */
  readonly project: string
  /** Undefined where it is on no server. */
  readonly endpoint: Endpoint | undefined
  /** All that there are, or that its address gives. */
  stages(): Promise<readonly string[]>
  /** Where they are; undefined where that is a database of Wharf's, or not known. */
  location(): Promise<StageLocation | undefined>
  /** What the target will lack. */
  examine(): ReturnType<typeof examineExport>
  /** Writes the archive, compressed, as it comes. */
  download(receiving: Receiving): Promise<ArchiveSummary>
}

/**
 * Opens the way to a source for as long as `work` takes: a project of a server, or a database that is named by its address.
 *
 * @param address of a database, or what `target` was read from.
 */
export async function withTransferSource<T>(
  context: CommandContext,
  { address, target }: SourceChoice,
  options: SelectionOptions,
  work: (source: TransferSource) => Promise<T>,
): Promise<T> {
  if (target) {
    return withServer(context, target, (server) => work(serverSource(toEndpoint(server), options)))
  }
  // Loaded here, since all others do without what connects to databases.
  const { readDirectAddress } = await import('../direct/direct-address.ts')
  const { assertNoSystem, withDirectSource } = await import('../direct/direct-source.ts')
  assertNoSystem(options)
  const read = await readDirectAddress(context, address)
  const { name, project } = read
  return withDirectSource(context, read, options, (source) =>
    work({
      ...{ name, project, endpoint: undefined },
      stages: async () => source.stages,
      location: async () => directLocation({ name, stages: read.stages, database: source.database }),
      async examine() {
        const notExported = [...(await source.examine())]
        return { complete: notExported.length === 0, notExported }
      },
      download: (receiving) => source.download({ ...receiving, coding: 'gzip' }),
    }),
  )
}

export interface SourceChoice {
  readonly address: string
  /** Undefined where it is the address of a database. */
  readonly target: Target | undefined
}

/** @param parse reads the address of a project. */
export const chooseSource = (address: string, parse: (text: string) => Target): SourceChoice => ({
  address,
  target: isPostgresAddress(address) ? undefined : parse(address),
})

function serverSource(endpoint: Endpoint, options: SelectionOptions): TransferSource {
  const { project } = endpoint
  const { http } = endpoint.server
  const selection = { slug: project, ...toSelection(options) }
  const asked = readReading(options)
  return {
    ...{ name: nameOf(endpoint), project, endpoint },
    stages: () => stagesOf(endpoint),
    location: () => locationOf(endpoint),
    examine: () => examineExport(http, selection),
    download: (receiving) => downloadArchive({ ...receiving, ...asked, http, selection, coding: 'gzip' }),
  }
}
