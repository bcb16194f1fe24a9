import type { Queryable } from '../../database/database.ts'
import type { AttachedServer as Row } from '../../database/generated/client.ts'
import { notFound } from '../../errors.ts'
import type { Seal } from '../../lib/seal.ts'
import { attachedServerSubject } from '../sealed-subjects.ts'
import { openServerAddress, type ServerAddress } from './attachment.ts'

/** A PostgreSQL server of somebody's, each database of which is attached as a project. */
export interface AttachedServer {
  readonly id: string
  readonly name: string
  /** The address of the database in which the others are looked for, without password and parameters. */
  readonly address: string
  readonly login: string
  /** What the slugs of its projects begin with. */
  readonly prefix: string
  /** Patterns of the databases that are left out. */
  readonly excluded: readonly string[]
  /** Databases whose projects were detached, which are left out, too. */
  readonly detached: readonly string[]
  readonly createdAt: Date
  readonly changedAt: Date
}

/** The same with its password. */
export interface ReachedServer extends AttachedServer {
  readonly reached: ServerAddress
}

/** The columns of a record that say how a server is reached. */
export const toServerData = (
  seal: Seal,
  id: string,
  { reached, address, login }: Pick<ReachedServer, 'reached' | 'address' | 'login'>,
) => ({ address, login, sealedAddress: seal.seal(JSON.stringify(reached), attachedServerSubject(id)) })

/** @throws {AppError} NOT_FOUND */
export async function readServer(control: Queryable, seal: Seal, name: string): Promise<ReachedServer> {
  const row = await control.attachedServer.findUnique({ where: { name } })
  if (!row) throw notFound('attached server', name)
  return { ...toServer(row), reached: openServerAddress(seal, row) }
}

/** All of them, by name. */
export async function listServers(control: Queryable): Promise<readonly AttachedServer[]> {
  return (await control.attachedServer.findMany({ orderBy: { name: 'asc' } })).map(toServer)
}

/** The projects of a server, by the database that each one is. */
export async function projectsOfServer(
  control: Queryable,
  { id }: Pick<AttachedServer, 'id'>,
): Promise<ReadonlyMap<string, string>> {
  const rows = await control.attachment.findMany({
    where: { serverId: id },
    select: { database: true, project: { select: { slug: true } } },
    orderBy: { database: 'asc' },
  })
  return new Map(rows.map(({ database, project }) => [database ?? '', project.slug]))
}

const toServer = ({ sealedAddress: _, ...server }: Row): AttachedServer => server
