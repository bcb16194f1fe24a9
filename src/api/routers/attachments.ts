import { z } from 'zod'
import type { Container } from '../../container.ts'
import { attachmentSchema, databaseAddress } from '../../contract/attachment.ts'
import { slug } from '../../contract/fields.ts'
import { projectSchema } from '../../contract/project.ts'
import { withTheirSchedules } from '../../jobs/schedules/schedules-of-projects.ts'
import type { Caller } from '../../projects/access.ts'
import { changeAddress } from '../../projects/attached/attach-project.ts'
import { detachProject } from '../../projects/attached/detach-project.ts'
import { examineAttachment } from '../../projects/attached/examine-attachment.ts'
import { assertAttached } from '../../projects/project-location.ts'
import { findProject } from '../../projects/projects.ts'
import { readImportWay } from '../../transfer/import/why-in-place.ts'
import { empty, json } from '../answer.ts'
import { jsonBody } from '../body.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { commandProofHeader, forceQuery, hostsFor, schedulesQuery } from './given-address.ts'
import { toProjectBody } from './projects.ts'

const route = routesUnder('Projects')
const path = '/projects/{slug}/attachment'
const params = z.object({ slug })

const show = route(`GET ${path}`, {
  operationId: 'showAttachment',
  summary: 'The database of an attached project, and what its login may do there now',
  access: { by: 'permission', permission: 'content.export', project: 'slug' },
  params,
  answers: { 200: json(attachmentSchema, 'What was found in the database.') },
  errors: ['CONFLICT', 'ATTACHED_FAILED'],
})

const change = route(`PUT ${path}`, {
  operationId: 'changeAttachment',
  summary: 'Gives an attached project another address; for the root token',
  description:
    'The address is tried at once, and has to have the schemas of all stages. Connections to the old one are given up ' +
    'when their users have given them back.',
  access: { by: 'root' },
  params,
  headers: commandProofHeader,
  body: jsonBody(z.strictObject({ address: databaseAddress })),
  answers: { 200: json(projectSchema, 'The project.') },
  errors: ['NOT_FOUND', 'CONFLICT', 'ATTACHED_FAILED'],
})

const remove = route(`DELETE ${path}`, {
  operationId: 'detachProject',
  summary: 'Detaches a project: forgets it with its roles, and leaves its database alone; for the root token',
  description:
    'What imports have left beside its stages is dropped, as far as the login can: what they replaced, which an undo could ' +
    'have brought back, and the record of what they committed.',
  access: { by: 'root' },
  params,
  query: forceQuery.extend(schedulesQuery.shape),
  answers: { 204: empty('The project is not known any more.') },
  errors: ['NOT_FOUND', 'CONFLICT', 'ATTACHED_FAILED'],
})

/** `/projects/{slug}/attachment` @param proofSecret of the data folder, which commands prove that they can read. */
export function attachmentRoutes(container: Container, proofSecret: string): readonly BoundRoute<Caller>[] {
  const { control, config, attached } = container
  const { prisma } = control
  return [
    show.handle<Caller>(async ({ params }) => {
      const project = await findProject(prisma, params.slug)
      assertAttached(project)
      return { status: 200, body: await examineAttachment(container, project, readImportWay) }
    }),
    change.handle<Caller>(async ({ params, body: { address }, headers }) => {
      const allowed = hostsFor(headers, address, { config, proofSecret })
      await changeAddress(container, await findProject(prisma, params.slug), { address, allowed, pointer: '/address' })
      return { status: 200, body: toProjectBody(await findProject(prisma, params.slug)) }
    }),
    remove.handle<Caller>(async ({ params, query }) => {
      const project = await findProject(prisma, params.slug)
      const leaving = { slugs: [project.slug], artifactDays: config.artifactDays, ...query }
      await withTheirSchedules(container, leaving, () => detachProject(container, project, query))
      attached.forget(project.id)
      return { status: 204 }
    }),
  ]
}
