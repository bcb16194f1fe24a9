import { z } from 'zod'
import type { Container } from '../../container.ts'
import { roleName, slug } from '../../contract/fields.ts'
import { pageOf } from '../../contract/page.ts'
import { newPermissions, roleSchema } from '../../contract/role.ts'
import type { Caller } from '../../projects/access.ts'
import { findProject } from '../../projects/projects.ts'
import { deleteRole, listRoles, setRole } from '../../projects/roles.ts'
import { empty, json } from '../answer.ts'
import { jsonBody } from '../body.ts'
import { type BoundRoute, routesUnder } from '../route.ts'

const route = routesUnder('Roles')
const params = z.object({ slug, role: roleName })

const list = route('GET /projects/{slug}/roles', {
  operationId: 'listRoles',
  summary: "The project's roles, by name",
  access: { by: 'member', project: 'slug' },
  params: z.object({ slug }),
  answers: { 200: json(pageOf(roleSchema), 'All roles.') },
})

const set = route('PUT /projects/{slug}/roles/{role}', {
  operationId: 'setRole',
  summary: 'Creates a role, or replaces what it allows; for the root token',
  description: 'A permission that is left out is not given. The change applies to tokens with the role at once.',
  access: { by: 'root' },
  params,
  body: jsonBody(newPermissions),
  answers: { 200: json(roleSchema, 'The role as it is now.') },
  errors: ['NOT_FOUND'],
})

const remove = route('DELETE /projects/{slug}/roles/{role}', {
  operationId: 'deleteRole',
  summary: 'Deletes a role that no usable token has; for the root token',
  access: { by: 'root' },
  params,
  answers: { 204: empty('The role is gone.') },
  errors: ['NOT_FOUND', 'CONFLICT'],
})

/** `/projects/{slug}/roles` */
export function roleRoutes({ control }: Container): readonly BoundRoute<Caller>[] {
  const database = control.prisma
  return [
    list.handle<Caller>(async ({ params }) => {
      const { id } = await findProject(database, params.slug)
      return { status: 200, body: { items: await listRoles(database, id), next: null } }
    }),
    set.handle<Caller>(async ({ params, body }) => {
      const { id } = await findProject(database, params.slug)
      return { status: 200, body: await setRole(database, id, { name: params.role, ...body }) }
    }),
    remove.handle<Caller>(async ({ params }) => {
      const { id } = await findProject(database, params.slug)
      await database.$transaction((tx) => deleteRole(tx, id, params.role))
      return { status: 204 }
    }),
  ]
}
