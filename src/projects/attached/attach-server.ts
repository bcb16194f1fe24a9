import { randomUUID } from 'node:crypto'
import { takeExcluded, USUAL_DATABASE } from '../../database/address/excluded-databases.ts'
import { parsePostgresAddress } from '../../database/address/parse-address.ts'
import { addressName } from '../../database/address/server-connection.ts'
import { serverSlug } from '../../database/address/server-name.ts'
import { isForeignKeyViolation, isUniqueViolation } from '../../database/sqlstate.ts'
import { conflict, invalidRequest } from '../../errors.ts'
import { findProject } from '../projects.ts'
import type { GivenAddress } from './attach-project.ts'
import { inBody, resolveGiven } from './attached-connection.ts'
import { projectsOfServer, type ReachedServer, readServer, toServerData } from './attached-server.ts'
import { type DetachOptions, type DetachServices, detachProject } from './detach-project.ts'
import { type FoundDatabase, type LookServices, lookAtServer } from './look-at-server.ts'
import { probeDatabase } from './probe-database.ts'

/** A server that was looked at. */
export interface LookedAtServer {
  readonly server: ReachedServer
  readonly databases: readonly FoundDatabase[]
}

/**
 * Attaches each database of a server as a project. A server that is attached with this address already is looked at again.
 *
 * @param options `name`: what the server is called; made of its host where it is left out.
 * @throws {AppError} INVALID_REQUEST, FORBIDDEN and ATTACHED_FAILED where the address is not understood, may not be
 *   reached, or can't be; CONFLICT where there is another server of this name.
 */
export async function attachServer(
  services: LookServices,
  { name, prefix = '', ...given }: GivenAddress & { readonly name?: string; readonly prefix?: string },
): Promise<LookedAtServer & { readonly isNew: boolean }> {
  const { control, seal } = services
  const probed = await probeServer(services, given)
  const slug = name ?? serverSlug(probed)
  const id = randomUUID()
  const data = { ...toServerData(seal, id, probed), excluded: [...probed.excluded], prefix, name: slug }
  const isNew = await control.prisma.attachedServer.create({ data: { id, ...data } }).then(
    () => true,
    (error: unknown) => {
      if (isUniqueViolation(error)) return false
      throw error
    },
  )
  const server = await readServer(control.prisma, seal, slug)
  const isSame = server.address === probed.address && server.prefix === prefix
  if (!isNew && !(isSame && isAlike(server.excluded, probed.excluded))) {
    throw conflict(
      `there is a server "${slug}" already, with the address ${server.address}, the prefix "${server.prefix}" and ` +
        `exclude=${server.excluded.join(',')}: give that one another address (--change), or this one another name`,
    )
  }
  // With another password, for instance.
  if (!isAlike(server.reached, probed.reached)) await storeAddress(services, server.id, probed)
  return { isNew, ...(await lookAgain(services, slug)) }
}

/** Looks at a server again, and attaches what is new. @throws {AppError} NOT_FOUND, FORBIDDEN, ATTACHED_FAILED. */
export async function lookAgain(services: LookServices, name: string): Promise<LookedAtServer> {
  const server = await readServer(services.control.prisma, services.seal, name)
  return { server, databases: await lookAtServer(services, server) }
}

/**
 * Gives a server, and so all its projects, another address, and other patterns of what is left out; then looks at it.
 *
 * @throws {AppError} as `attachServer` does; NOT_FOUND.
 */
export async function changeServer(services: LookServices, name: string, given: GivenAddress): Promise<LookedAtServer> {
  const { control, seal } = services
  const { id } = await readServer(control.prisma, seal, name)
  const probed = await probeServer(services, given)
  await storeAddress(services, id, probed)
  // What was detached is wanted again, unless it is excluded now.
  await control.prisma.attachedServer.updateMany({
    where: { id },
    data: { excluded: [...probed.excluded], detached: [] },
  })
  return lookAgain(services, name)
}

/** One address for a server and all its projects. */
async function storeAddress({ control, seal }: LookServices, id: string, probed: ProbedServer): Promise<void> {
  await control.prisma.$transaction(async (tx) => {
    await tx.attachedServer.update({
      where: { id },
      data: { ...toServerData(seal, id, probed), changedAt: new Date() },
    })
    for (const { projectId, database } of await tx.attachment.findMany({ where: { serverId: id } })) {
      const names = { name: probed.nameOf(database ?? ''), login: probed.login }
      await tx.attachment.update({ where: { projectId }, data: names })
    }
  })
}

/**
 * Forgets a server and all the projects that its databases are, and leaves the databases alone, as `detachProject` does.
 *
 * @returns the projects that were detached, by id.
 * @throws {AppError} as `detachProject`; what was detached before stays so, and the server is still there.
 */
export async function detachServer(
  services: LookServices & DetachServices,
  name: string,
  options: DetachOptions,
): Promise<readonly string[]> {
  const { prisma } = services.control
  const server = await readServer(prisma, services.seal, name)
  const detached: string[] = []
  for (const slug of (await projectsOfServer(prisma, server)).values()) {
    const project = await findProject(prisma, slug)
    await detachProject(services, project, options)
    services.attached.forget(project.id)
    detached.push(slug)
  }
  await prisma.attachedServer.deleteMany({ where: { id: server.id } }).catch((error: unknown) => {
    if (!isForeignKeyViolation(error)) throw error
    throw conflict('a database of this server was attached meanwhile; try again')
  })
  return detached
}

interface ProbedServer extends Pick<ReachedServer, 'address' | 'login' | 'reached' | 'excluded'> {
  readonly host: string
  readonly port: number
  /** The address of one of its databases, to be shown. */
  readonly nameOf: (database: string) => string
}

async function probeServer(
  { control, logger }: LookServices,
  { address: given, allowed, pointer }: GivenAddress,
): Promise<ProbedServer> {
  const { address, excluded, choice, database } = await inBody(pointer, async () => {
    const { address, excluded } = takeExcluded(given)
    const { parameters, schemas } = parsePostgresAddress(address)
    if (schemas.length > 0) throw invalidRequest(NO_SCHEMAS, [{ pointer, detail: NO_SCHEMAS }])
    const database = parameters.dbname ?? USUAL_DATABASE
    return { address, excluded, database, choice: await resolveGiven(address, allowed, database) }
  })
  const { connection, isSecondChoice } = await probeDatabase(choice, { control: control.prisma, schemas: [], logger })
  const { name, user: login, host, port } = connection
  return {
    ...{ address: name, login, host, port, excluded },
    reached: { address, isListed: allowed !== undefined, isSecondChoice, database },
    nameOf: (each) => addressName({ ...connection, database: each }),
  }
}

const NO_SCHEMAS =
  'the address names a schema: of each database of a server, all schemas that hold something are stages'

const isAlike = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
