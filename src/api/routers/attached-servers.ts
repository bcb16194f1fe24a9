import { z } from 'zod'
import type { Container } from '../../container.ts'
import {
  attachedServerSchema,
  changedAttachedServer,
  lookedAtServerSchema,
  newAttachedServer,
} from '../../contract/attached-server.ts'
import { slug } from '../../contract/fields.ts'
import { pageOf } from '../../contract/page.ts'
import { withTheirSchedules } from '../../jobs/schedules/schedules-of-projects.ts'
import type { Caller } from '../../projects/access.ts'
import {
  attachServer,
  changeServer,
  detachServer,
  type LookedAtServer,
  lookAgain,
} from '../../projects/attached/attach-server.ts'
import {
  type AttachedServer,
  listServers,
  projectsOfServer,
  readServer,
} from '../../projects/attached/attached-server.ts'
import { empty, json } from '../answer.ts'
import { jsonBody } from '../body.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { commandProofHeader, forceQuery, hostsFor, schedulesQuery } from './given-address.ts'

const route = routesUnder('Projects')
const path = '/attached-servers/{name}'
const params = z.object({ name: slug })

const list = route('GET /attached-servers', {
  operationId: 'listAttachedServers',
  summary: 'The servers each of whose databases is attached, by name; for the root token',
  access: { by: 'root' },
  answers: { 200: json(pageOf(attachedServerSchema), 'All of them.') },
})

const create = route('POST /attached-servers', {
  operationId: 'attachServer',
  summary: 'Attaches each database of a server as a project; for the root token',
  description:
    'Databases that take connections, are no templates and are not excluded become projects; schemas that hold something, ' +
    'their stages. A project has the name of its database, or what a slug can have of it. What cannot be attached is ' +
    'refused with the reason, and keeps nothing else from being attached. Nothing is changed there. Each run of a schedule of the root ' +
    'token whose pattern could match looks again. The host has to be in WHARF_TRANSFER_HOSTS. A server that is attached ' +
    'with the same address is looked at again.',
  canWaitLong: true,
  access: { by: 'root' },
  headers: commandProofHeader,
  body: jsonBody(newAttachedServer),
  answers: {
    200: json(lookedAtServerSchema, 'The server, which was attached already.'),
    201: json(lookedAtServerSchema, 'The server, with what became of each database.', {
      location: 'Path of the server.',
    }),
  },
  errors: ['CONFLICT', 'ATTACHED_FAILED'],
})

const show = route(`GET ${path}`, {
  operationId: 'showAttachedServer',
  summary: 'One attached server, with its projects; for the root token',
  access: { by: 'root' },
  params,
  answers: { 200: json(attachedServerSchema, 'The server.') },
  errors: ['NOT_FOUND'],
})

const change = route(`PUT ${path}`, {
  operationId: 'changeAttachedServer',
  summary: 'Gives a server, and so all its projects, another address; for the root token',
  description: 'What is excluded is what this address says. The server is looked at again, also for what was detached.',
  canWaitLong: true,
  access: { by: 'root' },
  params,
  headers: commandProofHeader,
  body: jsonBody(changedAttachedServer),
  answers: { 200: json(lookedAtServerSchema, 'The server, with what became of each database.') },
  errors: ['NOT_FOUND', 'CONFLICT', 'ATTACHED_FAILED'],
})

const look = route(`POST ${path}/look`, {
  operationId: 'lookAtServer',
  summary: 'Looks at a server again, and attaches what is new; for the root token',
  canWaitLong: true,
  access: { by: 'root' },
  params,
  answers: { 200: json(lookedAtServerSchema, 'The server, with what became of each database.') },
  errors: ['NOT_FOUND', 'ATTACHED_FAILED'],
})

const remove = route(`DELETE ${path}`, {
  operationId: 'detachServer',
  summary: 'Forgets a server with all the projects that its databases are; for the root token',
  description: 'The databases are left alone, as when each project is detached.',
  canWaitLong: true,
  access: { by: 'root' },
  params,
  query: forceQuery.extend(schedulesQuery.shape),
  answers: { 204: empty('The server is not known any more, nor are its projects.') },
  errors: ['NOT_FOUND', 'CONFLICT', 'ATTACHED_FAILED'],
})

/** `/attached-servers` @param proofSecret of the data folder, which commands prove that they can read. */
export function attachedServerRoutes(container: Container, proofSecret: string): readonly BoundRoute<Caller>[] {
  const { control, config, seal } = container
  const { prisma } = control

  const toBody = async (server: AttachedServer) => {
    const projects = [...(await projectsOfServer(prisma, server))].map(([database, project]) => ({ database, project }))
    return { ...commonOf(server), projects }
  }

  return [
    list.handle<Caller>(async () => {
      const items = await Promise.all((await listServers(prisma)).map(toBody))
      return { status: 200, body: { items, next: null } }
    }),
    create.handle<Caller>(async ({ body: { address, ...named }, headers }) => {
      const allowed = hostsFor(headers, address, { config, proofSecret })
      const looked = await attachServer(container, { ...named, address, allowed, pointer: '/address' })
      const body = toLookedAtBody(looked)
      return looked.isNew
        ? { status: 201, headers: { location: `/attached-servers/${looked.server.name}` }, body }
        : { status: 200, body }
    }),
    show.handle<Caller>(async ({ params: { name } }) => {
      return { status: 200, body: await toBody(await readServer(prisma, seal, name)) }
    }),
    change.handle<Caller>(async ({ params: { name }, body: { address }, headers }) => {
      const allowed = hostsFor(headers, address, { config, proofSecret })
      return {
        status: 200,
        body: toLookedAtBody(await changeServer(container, name, { address, allowed, pointer: '/address' })),
      }
    }),
    look.handle<Caller>(async ({ params: { name } }) => {
      return { status: 200, body: toLookedAtBody(await lookAgain(container, name)) }
    }),
    remove.handle<Caller>(async ({ params: { name }, query }) => {
      const slugs = [...(await projectsOfServer(prisma, await readServer(prisma, seal, name))).values()]
      const leaving = { slugs, artifactDays: config.artifactDays, ...query }
      await withTheirSchedules(container, leaving, async () => {
        await detachServer(container, name, query)
      })
      return { status: 204 }
    }),
  ]
}

const commonOf = ({ name, address, login, prefix, excluded, createdAt, changedAt }: AttachedServer) => ({
  ...{ name, address, login, prefix, exclude: [...excluded] },
  ...{ createdAt: createdAt.toISOString(), changedAt: changedAt.toISOString() },
})

const toLookedAtBody = ({ server, databases }: LookedAtServer) => ({ ...commonOf(server), databases: [...databases] })
