import { wrongUse } from '../../errors.ts'
import { importDirect } from '../../transfer/import/external/import-direct.ts'
import type { CommandContext } from '../environment.ts'
import { withTemporaryFolder } from '../temporary-folder.ts'
import { directLocation } from '../transfer/same-database.ts'
import type { TransferTarget } from '../transfer/transfer-target.ts'
import { readDirectAddress } from './direct-address.ts'
import { namingLost, withDirectDatabase } from './direct-database.ts'
import { warningOfLeft } from './warning-of-left.ts'

/**
 * Connects to a database that is named by its address, for as long as archives are imported into it.
 *
 * @throws {AppError} as `withDirectDatabase`.
 */
export async function withDirectTarget<T>(
  context: CommandContext,
  text: string,
  work: (target: TransferTarget) => Promise<T>,
): Promise<T> {
  const address = await readDirectAddress(context, text)
  const { name, project } = address
  const limits = await context.environment.loadConfig()
  const { spoolReserveBytes } = limits
  return withDirectDatabase(context, address, { forWriting: true }, (source) =>
    withTemporaryFolder('a temporary folder', (spoolFolder) =>
      work({
        ...{ name, project, endpoint: undefined },
        stages: async () => source.stages.map(({ slug }) => slug),
        location: async () => directLocation({ name, stages: address.stages, database: source.database }),
        async send(bytes, { progress, signal, allowIncomplete }) {
          async function* counted(): AsyncGenerator<Buffer, void, undefined> {
            for await (const chunk of bytes) {
              yield chunk
              progress.bytes += chunk.length
            }
            progress.waitingFor = 'loading'
          }
          const target = { ...source, slug: project }
          const policy = allowIncomplete === undefined ? {} : { allowIncomplete }
          const send = (onLeft: (schema: string, problem: string) => void) =>
            importDirect(target, (use) => use(counted()), {
              ...{ limits, spoolFolder, spoolReserveBytes, signal, onLeft, ...policy },
              confirm: async ({ archived }) => {
                if (archived.roles.length > 0) throw withSystem()
                return true
              },
            })
          const imported = await namingLost(name, () => warningOfLeft(context, send))
          return imported ? [imported] : []
        },
      }),
    ),
  )
}

const withSystem = (): Error =>
  wrongUse('a database that is not Wharf’s takes no roles and no event log of Wharf’s: leave --include-system out')
