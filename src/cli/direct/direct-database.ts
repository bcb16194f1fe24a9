import { randomUUID } from 'node:crypto'
import { assertUsable } from '../../database/address/assert-usable.ts'
import { connectFailure } from '../../database/address/connect-failure.ts'
import { reachServer } from '../../database/address/reach-server.ts'
import { isConnectionLost } from '../../database/connection-lost.ts'
import { openDatabase } from '../../database/open-database.ts'
import { databaseFailure } from '../../database/sqlstate-meanings.ts'
import { databaseUnavailable, isAppError } from '../../errors.ts'
import { createLogger } from '../../logger.ts'
import { readExtensionSchemas } from '../../projects/attached/extension-schemas.ts'
import { assertHasSchemas, assertUsableSchemas } from '../../projects/attached/probe-database.ts'
import type { SnapshotSource } from '../../transfer/export/locked-source.ts'
import type { CommandContext } from '../environment.ts'
import { askPassword } from '../terminal/ask-password.ts'
import type { DirectAddress } from './direct-address.ts'

/** As many as an import takes. */
const MAX_CONNECTIONS = 8

/**
 * Connects to a database for as long as `use` takes, without any server of Wharf's.
 *
 * @param use gets its stages. @param jobs how many sessions read side by side, at most.
 * @throws {AppError} DATABASE_UNAVAILABLE, DATABASE_UNSUITABLE; WRONG_USE where it wants a password, and there is nobody to
 *   ask; CONFLICT where a schema is missing, or closed to the login.
 */
export async function withDirectDatabase<T>(
  context: CommandContext,
  { name, choice, stages }: DirectAddress,
  { forWriting, jobs = 1 }: { readonly forWriting: boolean; readonly jobs?: number },
  use: (source: SnapshotSource) => Promise<T>,
): Promise<T> {
  const session = { applicationName: 'wharf', logger: createLogger('error') }
  const server = await reachServer(choice, { ...session, askPassword: (asking) => askPassword(context, asking) })
  await assertUsable(server, { ...session, forWriting })
  context.signal.throwIfAborted()
  // Helping sessions leave half of them to others.
  const maxConnections = Math.max(MAX_CONNECTIONS, 2 * jobs)
  const options = { maxConnections, session: 'attached', givesByteText: true } as const
  const database = openDatabase(server, options, session)
  try {
    const schemas = stages.map(({ schema }) => schema)
    await assertHasSchemas(database.pool, server, schemas)
    await assertUsableSchemas(database.pool, server, schemas)
    const extensionSchemas = await readExtensionSchemas(database.pool)
    const source: SnapshotSource = {
      database,
      login: server.user,
      isOwn: false,
      makesExtensions: false,
      extensionSchemas,
      stages: stages.map(({ slug, schema }) => ({
        ...{ id: randomUUID(), slug, schemaName: schema },
        createdAt: new Date(),
        loggedSince: null,
      })),
    }
    return await namingLost(name, () => use(source))
  } catch (error) {
    throw isConnectionLost(error) ? connectFailure(error, name) : error
  } finally {
    await database.close()
  }
}

/**
 * Does something with a database that is connected to. To be used where another one is, too: what it is that was lost is not
 * known any more outside.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE, with its name, where the connection is lost meanwhile.
 */
export async function namingLost<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isAppError(databaseFailure(error), 'DATABASE_UNAVAILABLE')) throw error
    throw databaseUnavailable(`the connection to ${name} was lost`, error)
  }
}
