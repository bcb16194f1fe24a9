import { randomUUID } from 'node:crypto'
import type { AllowedHosts } from '../../allowed-hosts.ts'
import type { FOUND_OUTCOMES } from '../../contract/attached-server.ts'
import type { ServerConnection } from '../../database/address/server-connection.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { conflict, isAppError } from '../../errors.ts'
import { matchesPattern } from '../../lib/wildcards.ts'
import { findProject, lockProject, type Project, recordProject } from '../projects.ts'
import { recordExternalStage } from '../stages.ts'
import type { AttachServices, NewAttachedStage } from './attach-project.ts'
import { connectionOf } from './attached-connection.ts'
import { projectsOfServer, type ReachedServer } from './attached-server.ts'
import { assertOnlyOne, lockAttachments } from './attached-twice.ts'
import { toServerAttachmentData } from './attachment.ts'
import { findAttachedAlready } from './find-attached.ts'
import { type ListedDatabase, listDatabases, lookIntoDatabase } from './server-databases.ts'
import { slugOfName } from './slug-of-name.ts'

export interface LookServices extends AttachServices {
  readonly config: { readonly transferHosts: AllowedHosts }
}

/** What was found out about a database of a server. */
export interface FoundDatabase {
  readonly database: string
  /** The project that it is, or would be. */
  readonly project: string | null
  readonly outcome: (typeof FOUND_OUTCOMES)[number]
  /** The stages that were made of its schemas now. */
  readonly stages: readonly NewAttachedStage[]
  /** Why it is not attached. */
  readonly reason: string | null
}

/**
 * Looks which databases a server has, and attaches those that are not: each as a project of its own, and each schema that
 * has come to hold something since as a stage. What cannot be attached keeps nothing else from it.
 *
 * @returns what became of each database, by name.
 * @throws {AppError} ATTACHED_FAILED, FORBIDDEN where the server itself is not reached.
 */
export async function lookAtServer(services: LookServices, server: ReachedServer): Promise<readonly FoundDatabase[]> {
  const { control, logger } = services
  const all = await listDatabases(await connectTo(services, server), logger)
  // At once: one in which an archive is being proven is gone a moment later, and known to nobody then.
  const own = await control.prisma.project.findMany({
    where: { ownDatabase: { in: all.map(({ name }) => name) } },
    select: { slug: true, ownDatabase: true, scratchFor: true },
  })
  const listed = all.filter(
    ({ name }) => !own.some(({ ownDatabase, scratchFor }) => ownDatabase === name && scratchFor),
  )
  const projects = await projectsOfServer(control.prisma, server)
  const found: FoundDatabase[] = []
  for (const database of namesThatAreSlugsFirst(listed, server.prefix)) {
    const slug = projects.get(database.name)
    found.push(
      slug === undefined
        ? await attachUnlessExcluded(services, server, database, own)
        : await attachNewSchemas(services, server, { database, slug }),
    )
  }
  for (const [database, project] of projects) {
    if (!listed.some(({ name }) => name === database)) {
      found.push({ database, project, outcome: 'gone', stages: [], reason: 'the server has no such database any more' })
    }
  }
  return found.toSorted((a, b) => (a.database < b.database ? -1 : 1))
}

/** How a database of a server is reached, as its projects are. */
const connectTo = (
  { config }: LookServices,
  { reached }: ReachedServer,
  database = reached.database,
): Promise<ServerConnection> => connectionOf({ ...reached, database }, config.transferHosts)

/** So that no name that could be a slug of its own finds it taken by what was made of another name. */
const namesThatAreSlugsFirst = (listed: readonly ListedDatabase[], prefix: string): readonly ListedDatabase[] => {
  const isChanged = ({ name }: ListedDatabase): number => (slugOfName(name, prefix) === prefix + name ? 0 : 1)
  return listed.toSorted((a, b) => isChanged(a) - isChanged(b))
}

async function attachUnlessExcluded(
  services: LookServices,
  server: ReachedServer,
  { name, mayConnect }: ListedDatabase,
  owners: readonly { readonly slug: string; readonly ownDatabase: string | null }[],
): Promise<FoundDatabase> {
  const none = { database: name, project: null, stages: [] }
  if (server.excluded.some((pattern) => matchesPattern(pattern, name))) {
    return { ...none, outcome: 'excluded', reason: null }
  }
  if (server.detached.includes(name)) {
    return {
      ...none,
      outcome: 'excluded',
      reason: 'its project was detached: project:attach --change takes it in again',
    }
  }
  // Its name is that of no other database.
  const own = owners.find(({ ownDatabase }) => ownDatabase === name)
  if (own) return { ...none, outcome: 'excluded', reason: `it is the database of Wharf's own project "${own.slug}"` }
  if (!mayConnect) {
    const grant = `GRANT CONNECT ON DATABASE ${quoteIdentifier(name)} TO ${quoteIdentifier(server.login)}`
    return { ...none, outcome: 'refused', reason: `the login may not connect to it: ${grant}` }
  }
  return unlessRefused(none, async () => {
    const { control, logger, seal } = services
    const connection = await connectTo(services, server, name)
    const { identity, schemas } = await lookIntoDatabase(connection, { control: control.prisma, logger, known: [] })
    const already = await findAttachedAlready(control.prisma, seal, { identity, name: connection.name })
    if (already !== undefined) return { ...none, project: already, outcome: 'already attached', reason: null }
    const slug = slugOfName(name, server.prefix)
    if (slug === undefined) throw conflict(`no slug can be made of its name: ${BY_ITSELF}`)
    const stages = toStages(schemas, [])
    const isNew = await recordDatabase(services, server, { slug, database: name, connection, identity, stages })
    if (!isNew) return { ...none, project: slug, outcome: 'already attached', reason: null }
    return { ...none, project: slug, outcome: 'attached', stages, reason: null }
  })
}

const BY_ITSELF = 'attach it by itself (project:attach <slug> <address>), or exclude it'

/** @returns false where somebody else who looked at the same time has recorded it. */
async function recordDatabase(
  { control, seal, logger }: LookServices,
  server: ReachedServer,
  found: {
    readonly slug: string
    readonly database: string
    readonly connection: ServerConnection
    readonly identity: string | null
    readonly stages: readonly NewAttachedStage[]
  },
): Promise<boolean> {
  const { slug, database, connection, identity, stages } = found
  const isNew = await control.prisma.$transaction(async (tx) => {
    await lockAttachments(tx)
    const where = { serverId_database: { serverId: server.id, database } }
    if (await tx.attachment.findUnique({ where })) return false
    const id = randomUUID()
    await assertOnlyOne(tx, seal, { identity, projectId: id, schemas: stages.map(({ schema }) => schema) })
    if (await tx.project.findUnique({ where: { slug } })) {
      throw conflict(`there is a project "${slug}" already: ${BY_ITSELF}`)
    }
    await recordProject(tx, { id, slug })
    const { name, user: login } = connection
    const data = toServerAttachmentData(seal, id, { name, login, identity, serverId: server.id, database })
    await tx.attachment.create({ data: { projectId: id, ...data } })
    for (const stage of stages) await recordExternalStage(tx, { id, slug }, stage)
    return true
  })
  if (isNew)
    logger.info({ server: server.name, database, project: slug }, 'a database of an attached server was attached')
  return isNew
}

/** What came to hold something since the database was attached is a stage, too. */
function attachNewSchemas(
  services: LookServices,
  server: ReachedServer,
  { database, slug }: { readonly database: ListedDatabase; readonly slug: string },
): Promise<FoundDatabase> {
  const known = { database: database.name, project: slug, stages: [] }
  return unlessRefused(known, async () => {
    const { control, logger } = services
    const project = await findProject(control.prisma, slug)
    const connection = await connectTo(services, server, database.name)
    const schemas = project.stages.map(({ schemaName }) => schemaName)
    const found = await lookIntoDatabase(connection, { control: control.prisma, logger, known: schemas })
    const stages = toStages(found.schemas, project.stages)
    await recordStages(services, project, { ...found, stages })
    return { ...known, stages, outcome: 'already attached', reason: null }
  })
}

async function recordStages(
  { control, seal }: LookServices,
  project: Project,
  {
    identity,
    schemas,
    stages,
  }: { identity: string | null; schemas: readonly string[]; stages: readonly NewAttachedStage[] },
): Promise<void> {
  if (stages.length === 0) return
  await control.prisma.$transaction(async (tx) => {
    await assertOnlyOne(tx, seal, { identity, projectId: project.id, schemas })
    await lockProject(tx, project)
    for (const stage of stages) await recordExternalStage(tx, project, stage)
  })
}

/** A single schema is the stage `live`, as with `project:attach`; several, and all that come later, have their names. */
function toStages(schemas: readonly string[], known: Project['stages']): readonly NewAttachedStage[] {
  const [only, ...others] = schemas
  if (only !== undefined && others.length === 0 && known.length === 0) return [{ slug: 'live', schema: only }]
  const taken = new Set(known.map(({ slug }) => slug))
  return schemas.map((schema) => {
    const slug = slugOfName(schema)
    if (slug === undefined || taken.has(slug)) {
      throw conflict(`its schema "${schema}" cannot give a stage its name: ${known.length === 0 ? BY_ITSELF : BY_HAND}`)
    }
    taken.add(slug)
    return { slug, schema }
  })
}

const BY_HAND = 'attach it as another one (stage:attach)'

/** What is wrong with one database is told, and keeps nothing else from being attached. */
async function unlessRefused(
  known: Pick<FoundDatabase, 'database' | 'project' | 'stages'>,
  work: () => Promise<FoundDatabase>,
): Promise<FoundDatabase> {
  try {
    return await work()
  } catch (error) {
    if (!isAppError(error)) throw error
    const reason = [error.message, ...error.faults.map(({ detail }) => detail)].join(': ')
    return { ...known, outcome: 'refused', reason }
  }
}
